/*
 * The report of a replay, for people and for programs.
 */
#ifndef PGFLOW_CTL_REPLAY_FINDINGS_PRINT_H
#define PGFLOW_CTL_REPLAY_FINDINGS_PRINT_H

#include "ctl/replay/findings.h"

void findings_print(struct findings *findings);
bool findings_print_json(struct findings *findings, bool differ, struct error *error) MUST_CHECK;

#endif
