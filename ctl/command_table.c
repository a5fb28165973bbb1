/*
 * All commands, in the order in which the help lists them.
 */
#include "ctl/command.h"

const struct command *const command_table[] = {
    &command_migrate,  &command_inspect,   &command_new,      &command_lint,      &command_compare,
    &command_exec,     &command_replay,    &command_start,    &command_runs,      &command_run,
    &command_retry,    &command_resume,    &command_cancel,   &command_workers,   &command_queue,
    &command_metrics,  &command_functions, &command_aliases,  &command_activate,  &command_coverage,
    &command_graph,    &command_options,   &command_drain,    &command_retire,    &command_delete,
    &command_doctor,   &command_prune,     &command_snapshot, &command_preflight, &command_rollout,
    &command_complete,
};

const size_t command_count = sizeof command_table / sizeof command_table[0];
