/*
 * How often the kernel's out-of-memory killer has ended a process.
 */
#ifndef PGFLOW_BASE_OOM_KILLS_H
#define PGFLOW_BASE_OOM_KILLS_H

#include <stdint.h>

/* The count of this machine since its start, for its memory and that of every cgroup; -1 where the
 * kernel does not tell (/proc/vmstat, Linux 4.13). Reads a file: not for a hot path. */
int64_t oom_kills(void);

#endif
