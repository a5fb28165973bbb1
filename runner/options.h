/*
 * The command line of pgflow-runner. People use it for `--inspect`; `--run` is
 * what the host says and has no other user, so it is not made comfortable.
 */
#ifndef PGFLOW_RUNNER_OPTIONS_H
#define PGFLOW_RUNNER_OPTIONS_H

#include "base/error.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Descriptors that the host hands to `--run`. */
enum { RUNNER_FD_SOCKET = 3, RUNNER_FD_PAGE = 4, RUNNER_FD_FIRST_FREE = 5 };

/* $ORIGIN dependencies that one module may have. */
enum { RUNNER_PRELOADS = 64 };

enum runner_mode { RUNNER_INSPECT, RUNNER_RUN };

struct runner_options {
    enum runner_mode mode;
    const char *module;
    const char *preload[RUNNER_PRELOADS]; /* loaded before the module, in order */
    size_t preload_count;
    pid_t parent; /* 0: not checked */
    size_t max_payload;
    size_t memory;            /* bytes of address space; 0: no limit */
    unsigned long long files; /* soft limit on open descriptors; 0: as given */
    bool core;
    bool help; /* and nothing else */
    uid_t uid; /* (uid_t)-1: stays */
    gid_t gid;
};

/* To stdout. */
void runner_options_print_help(void);

/* ERROR_USAGE on anything unknown, missing or out of range. */
bool runner_options_parse(struct runner_options *options, int argc, char **argv,
                          struct error *error) MUST_CHECK;

#endif
