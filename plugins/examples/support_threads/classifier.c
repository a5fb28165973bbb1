/* SPDX-License-Identifier: Apache-2.0
 * A table of phrases with points. It understands nothing: sarcasm, other languages and "is not
 * the site down?" are beyond it. It is exact about what it does, and says why. */
#include "classifier.h"

#include <ctype.h>
#include <string.h>

static const struct rule {
    const char *category; /* NULL: of no subject, points only */
    int points;
    const char *phrase; /* as fold() leaves text */
} rules[] = {
    {"outage", 5, "is down"},
    {"outage", 5, "are down"},
    {"outage", 5, "outage"},
    {"outage", 4, "error 500"},
    {"outage", 4, "not loading"},
    {"outage", 3, "timing out"},
    {"security", 6, "data breach"},
    {"security", 6, "hacked"},
    {"security", 5, "leaked"},
    {"security", 4, "phishing"},
    {"security", 3, "vulnerability"},
    {"data", 6, "data loss"},
    {"data", 6, "lost all"},
    {"data", 3, "is missing"},
    {"billing", 4, "charged twice"},
    {"billing", 2, "refund"},
    {"billing", 1, "invoice"},
    {"account", 3, "locked out"},
    {"account", 3, "cannot log in"},
    {"account", 3, "can't log in"},
    {"account", 1, "password"},
    {"how_to", 1, "how do i"},
    {"how_to", 1, "how can i"},
    {NULL, 3, "urgent"},
    {NULL, 3, "asap"},
    {NULL, 3, "emergency"},
    {NULL, 3, "production"},
    {NULL, 2, "immediately"},
    {NULL, 2, "all users"},
    {NULL, 2, "all customers"},
    {NULL, 2, "blocked"},
    {NULL, -6, "not urgent"},
    {NULL, -4, "no rush"},
    {NULL, -6, "works again"},
    {NULL, -6, "is resolved"},
};

enum { RULES = sizeof rules / sizeof rules[0], MOST_FOR_WAITING = 3 };

_Static_assert((int)RULES <= (int)CLASSIFIER_PHRASES, "a verdict has room for all phrases");

static const struct {
    const char *name;
    int from;
} levels[] = {{"urgent", 6}, {"high", 4}, {"normal", 1}};

/* In place: ASCII in lower case, one space for each run of white space, ' for U+2019. */
static void fold(char *text)
{
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (strncmp(at, "\xe2\x80\x99", 3) == 0) {
            *out++ = '\'';
            at += 2;
        } else if (isspace((unsigned char)*at)) {
            if (out == text || out[-1] != ' ')
                *out++ = ' ';
        } else {
            *out++ = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
        }
    }
    *out = '\0';
}

/* Letters beyond ASCII are letters too. */
static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

/* As whole words: "are down" is not in "software download". */
static bool has_phrase(const char *text, const char *phrase)
{
    size_t length = strlen(phrase);
    for (const char *at = text; (at = strstr(at, phrase)) != NULL; at++) {
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
            return true;
    }
    return false;
}

/* The points of a category, by the phrases found. */
static int points_of(const bool found[RULES], const char *category)
{
    int points = 0;
    for (size_t i = 0; i < RULES; i++)
        if (found[i] && rules[i].category != NULL && strcmp(rules[i].category, category) == 0)
            points += rules[i].points;
    return points;
}

/* The one with the most points; of equals the one that stands first in the table. */
static const char *best_category(const bool found[RULES])
{
    const char *best = "other";
    int most = 0;
    for (size_t i = 0; i < RULES; i++) {
        int points =
            found[i] && rules[i].category != NULL ? points_of(found, rules[i].category) : 0;
        if (points > most) {
            most = points;
            best = rules[i].category;
        }
    }
    return best;
}

static const char *level_of(int score)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (score >= levels[i].from)
            return levels[i].name;
    return "low";
}

void classify(struct verdict *verdict, char *text, int waiting)
{
    bool found[RULES];
    int unanswered = waiting - 1; /* the first message of a customer is no complaint */
    memset(verdict, 0, sizeof *verdict);
    fold(text);
    for (size_t i = 0; i < RULES; i++) {
        found[i] = has_phrase(text, rules[i].phrase);
        if (found[i]) {
            verdict->score += rules[i].points;
            verdict->because[verdict->n_because++] = rules[i].phrase;
        }
    }
    if (unanswered > 0)
        verdict->score += unanswered < MOST_FOR_WAITING ? unanswered : MOST_FOR_WAITING;
    verdict->category = best_category(found);
    verdict->urgency = level_of(verdict->score);
}

bool is_urgent(const char *urgency)
{
    return strcmp(urgency, levels[0].name) == 0;
}
