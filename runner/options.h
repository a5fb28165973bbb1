/*
 * The command line of pgflow-runner. People use it for `--inspect`; `--run` is
 * what the host says and has no other user, so it is not made comfortable.
 */
#ifndef PGFLOW_RUNNER_OPTIONS_H
#define PGFLOW_RUNNER_OPTIONS_H

#include "base/error.h"
#include "base/limits.h"
#include "wire/runner_fds.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum runner_mode { RUNNER_INSPECT, RUNNER_RUN };

struct runner_options {
    enum runner_mode mode;
    const char *module;
    const char *preload[RUNNER_LIBRARIES]; /* loaded before the module, in order */
    size_t preload_count;
    bool sealed;  /* the bytes of the module and the preloads are at RUNNER_FD_PARTS and after; the
                     paths are where debuggers find them */
    pid_t parent; /* 0: not checked */
    size_t max_payload;
    size_t memory;            /* bytes of address space; 0: no limit */
    unsigned long long files; /* soft limit on open descriptors; 0: as given */
    bool core;
    bool help; /* and nothing else */
    uid_t uid; /* (uid_t)-1: stays */
    gid_t gid;
};

/* The first descriptor that nobody hands over. */
static inline int runner_first_fd(const struct runner_options *options)
{
    return RUNNER_FD_PARTS + (options->sealed ? 1 + (int)options->preload_count : 0);
}

/* To stdout. */
void runner_options_print_help(void);

/* ERROR_USAGE on anything unknown, missing or out of range. */
bool runner_options_parse(struct runner_options *options, int argc, char **argv,
                          struct error *error) MUST_CHECK;

#endif
