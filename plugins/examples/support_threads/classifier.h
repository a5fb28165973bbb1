/* SPDX-License-Identifier: Apache-2.0
 * What a support thread is about and how urgent it is, by phrases that the customer used. Pure
 * functions, no JSON. The rules are the table in classifier.c; the README lists them. */
#ifndef SUPPORT_THREADS_CLASSIFIER_H
#define SUPPORT_THREADS_CLASSIFIER_H

#include <stdbool.h>
#include <stddef.h>

enum { CLASSIFIER_PHRASES = 64 }; /* room for all rules, checked when built */

struct verdict {
    const char *category; /* static; "other" when no phrase names one */
    const char *urgency;  /* static; "urgent", "high", "normal" or "low" */
    int score;
    const char *because[CLASSIFIER_PHRASES]; /* static; the phrases found, in the table's order */
    size_t n_because;
};

/* `text` is changed: what the customer wrote, in any case and spacing, UTF-8. `waiting`: how many
 * messages the customer wrote since an agent last did. */
void classify(struct verdict *verdict, char *text, int waiting);

bool is_urgent(const char *urgency);

#endif
