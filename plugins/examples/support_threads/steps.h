/* SPDX-License-Identifier: Apache-2.0
 * The handlers of support_threads; module.c puts them together. Run input:
 *   {"threads": [{"id": "T-17", "subject": "...", "link": "https://...",
 *                 "messages": [{"from": "customer" | "agent", "text": "..."}]}]}
 * `subject` and `link` are optional, other members are left alone. `state` is what the
 * module's init made: the webhook. What a step gives goes into the next one, so those of the two
 * versions do not mix: each is a concrete flow of its own. */
#ifndef SUPPORT_THREADS_STEPS_H
#define SUPPORT_THREADS_STEPS_H

#include <pgflow/module.h>

/* run input -> its threads, checked: ids are texts and appear once, messages are in order */
int32_t step_load(void *state, const pgf_call *call);

/* one thread -> {"id", "subject", "link", "category", "urgency", "score", "waiting",
 * "because": [phrases]}; "link" only when the thread has one */
int32_t step_classify(void *state, const pgf_call *call);

/* version 2: the same, and "team" */
int32_t step_classify_with_team(void *state, const pgf_call *call);

/* {"classify_threads": [...]} -> the urgent ones, highest score first */
int32_t step_pick(void *state, const pgf_call *call);

/* version 2: -> {"team", "threads": [urgent ones]} for each team that has one */
int32_t step_group(void *state, const pgf_call *call);

/* one urgent thread -> {"id", "status", "key"}, after the webhook took the alert */
int32_t step_deliver(void *state, const pgf_call *call);

/* version 2: one team's threads -> {"team", "ids", "status", "key"} */
int32_t step_deliver_digest(void *state, const pgf_call *call);

#endif
