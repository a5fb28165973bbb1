/*
 * The hooks file: the operator's commands that stop, start and show the processes
 * of a function. It stands beside the manifest.
 */
#ifndef PGFLOW_CTL_ROLLOUT_HOOKS_H
#define PGFLOW_CTL_ROLLOUT_HOOKS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

struct cJSON;

enum hook { HOOK_STOP, HOOK_START, HOOK_STATUS, HOOKS };

/* "stop", "start", "status" */
const char *hook_name(enum hook hook);

struct hooks {
    struct buf path; /* "": there is no file */
    struct cJSON *json;
    int timeout_s;
};

/* `path` NULL: the file beside the manifest, x.hooks.json for x.json; none there is
 * no error. ERROR_USAGE: not readable, can be changed by others, or not what a hooks
 * file is. On failure there is nothing to free. */
bool hooks_read(struct hooks *hooks, const char *path, const char *manifest_path,
                struct error *error) MUST_CHECK;
void hooks_free(struct hooks *hooks);

/* Whether the file names the function, by itself or by "*". */
bool hooks_has(const struct hooks *hooks, const char *function);

enum { HOOK_WORDS = 64 };
/* The command, ends with NULL; borrowed. A text is for the shell. */
void hooks_command(const struct hooks *hooks, const char *function, enum hook hook,
                   const char *words[HOOK_WORDS + 1]);

#endif
