#include "ctl/preflight/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    enum finding_class class;
} kinds[FINDING_KINDS] = {
    [FOUND_MISSING_PAIR] = {"missing_pair", FINDING_PROBLEM},
    [FOUND_DIFFERENCE] = {"difference", FINDING_PROBLEM},
    [FOUND_NAME_TAKEN] = {"name_taken", FINDING_PROBLEM},
    [FOUND_BAD_QUEUE] = {"bad_queue", FINDING_PROBLEM},
    [FOUND_BESIDE] = {"beside_live", FINDING_NOTE},
    [FOUND_RECOMPILED] = {"recompiled", FINDING_NOTE},
    [FOUND_NO_CONTRACT] = {"no_contract", FINDING_NOTE},
    [FOUND_OPTION_DRIFT] = {"option_drift", FINDING_NOTE},
    [FOUND_ACTIVATION] = {"activation", FINDING_NOTE},
    [FOUND_LOST_SERVER] = {"lost_server", FINDING_NOTE},
    [FOUND_UNSERVED_QUEUE] = {"unserved_queue", FINDING_NOTE},
    [FOUND_LATER_START] = {"later_start", FINDING_CAVEAT},
    [FOUND_HOSTS_WITHOUT_PAIRS] = {"hosts_without_pairs", FINDING_CAVEAT},
};

const char *finding_word(enum finding_kind kind)
{
    return kinds[kind].word;
}

enum finding_class finding_class(enum finding_kind kind)
{
    return kinds[kind].class;
}

static void copy_name(char *out, const char *name)
{
    (void)snprintf(out, LIMIT_SLUG + 1, "%s", name != NULL ? name : "");
}

void finding_add(struct findings *findings, enum finding_kind kind, const char *flow,
                 const char *step, const char *queue)
{
    if (findings->count == findings->room) {
        size_t room = findings->room * 2 + 16;
        struct finding *items = realloc(findings->items, room * sizeof *items);
        if (items == NULL) {
            findings->failed = true;
            return;
        }
        findings->items = items;
        findings->room = room;
    }
    struct finding *finding = &findings->items[findings->count++];
    *finding = (struct finding){.kind = kind};
    copy_name(finding->flow, flow);
    copy_name(finding->step, step);
    copy_name(finding->queue, queue);
}

static void print(struct findings *findings, char **text, const char *format, va_list values)
{
    free(*text);
    *text = NULL;
    if (vasprintf(text, format, values) < 0) {
        *text = NULL;
        findings->failed = true;
    }
}

void finding_say(struct findings *findings, const char *format, ...)
{
    va_list values;
    if (findings->failed)
        return;
    va_start(values, format);
    print(findings, &findings->items[findings->count - 1].text, format, values);
    va_end(values);
}

void finding_remedy(struct findings *findings, const char *format, ...)
{
    va_list values;
    if (findings->failed)
        return;
    va_start(values, format);
    print(findings, &findings->items[findings->count - 1].remedy, format, values);
    va_end(values);
}

size_t findings_of(const struct findings *findings, enum finding_class which)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += finding_class(findings->items[i].kind) == which;
    return count;
}

size_t findings_of_kind(const struct findings *findings, enum finding_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].kind == kind;
    return count;
}

void findings_free(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].text);
        free(findings->items[i].remedy);
    }
    free(findings->items);
}
