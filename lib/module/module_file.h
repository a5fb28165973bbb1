/*
 * A flow module as a file: looked at, copied, inspected. Synchronous, called at
 * startup before any change to the database; a bad module is an error that
 * names the file, what is wrong, and the remedy.
 *
 * Data flow: path as given -> one open descriptor -> checks (regular file, owner
 * and write bits, ELF whole) -> all its bytes, hashed while they are copied to
 * <module-dir>/<digest>/<file>, read-only, with the $ORIGIN dependencies beside
 * it -> a throw-away runner maps the copy and prints the descriptor as JSON.
 * From then on only the copy is loaded: what was inspected is what runs, also
 * when the source file is overwritten or removed. The copy stays locked (shared
 * flock on its folder) while this host lives; whoever opens the store removes
 * the folders that nobody locks.
 */
#ifndef PGFLOW_MODULE_MODULE_FILE_H
#define PGFLOW_MODULE_MODULE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The pgflow-runner program, opened once and executed from that descriptor, so
 * that a package upgrade changes nothing before a restart.
 */

/* `path` NULL: beside the running binary, in the libexec folder next to it, then in that of
 * the configured installation. The descriptor (close-on-exec, number >= 64) is the caller's;
 * -1 and an error when there is none. */
int runner_program_open(const char *path, struct error *error) MUST_CHECK;

/*
 * The folder with the private copies.
 */
struct module_store;

/* How an inspection learns that the program is to end. When `fd` gets readable `is_wanted` is
 * asked, which deals with what came; true: the throw-away runner is killed, and the module is
 * refused. All zero: it is never asked. */
struct module_stop {
    int fd;
    bool (*is_wanted)(void *context);
    void *context;
};

struct module_store_config {
    const char *folder;          /* --module-dir; NULL: $STATE_DIRECTORY, $XDG_CACHE_HOME/pgflow,
                                    a folder of ours in TMPDIR; borrowed during the call */
    int runner_program;          /* from runner_program_open; borrowed while the store lives */
    uid_t handler_uid;           /* --handler-user: who must be able to read the copies; */
    gid_t handler_gid;           /* (uid_t)-1, (gid_t)-1: the host's own user */
    bool allow_writable;         /* --allow-writable-plugins */
    const char *const *pass_env; /* --pass-env names, NULL-terminated, may be NULL; borrowed
                                    while the store lives */
    struct module_stop stop;
};

/* Makes the folder if needed, refuses one on a noexec mount (names it and
 * --module-dir), and removes copies that no running host uses. NULL: error. */
struct module_store *module_store_open(const struct module_store_config *config,
                                       struct error *error) MUST_CHECK;
/* After the last module_file_close. Takes NULL. */
void module_store_close(struct module_store *store);
/* Absolute path, for the banner and messages. */
const char *module_store_folder(const struct module_store *store);

/*
 * One module.
 */
struct module_file;

/* All of it: check, copy, inspect. `path` without a slash is in the current
 * folder ("flow.so" means "./flow.so"); nothing is searched. NULL: error, which
 * begins with the path as given. The caller owns the result; the store outlives
 * it. Blocks at most 10 s for the throw-away runner, or until the store's `stop`. */
struct module_file *module_file_open(struct module_store *store, const char *path,
                                     struct error *error) MUST_CHECK;
/* Unlocks the copy (it is kept for the next start). Takes NULL. */
void module_file_close(struct module_file *file);

/* All borrowed until module_file_close. */
const char *module_file_path(const struct module_file *file);      /* as given */
const char *module_file_copy_path(const struct module_file *file); /* what runners load */
const char *module_file_sha256(const struct module_file *file);    /* 64 hex digits: of the file */
const char *module_file_build_id(const struct module_file *file);  /* hex; "" when it has none */
/* The descriptor as JSON text (runner/descriptor_json.h says its shape). */
const char *module_file_descriptor(const struct module_file *file, size_t *size);
/* Private copies of its $ORIGIN dependencies, each after those that it needs
 * itself; NULL-terminated. Runners load them first. */
const char *const *module_file_dependencies(const struct module_file *file);

/* True when both were opened from the same bytes of the same file (device and
 * inode), whatever the paths: for "the same file twice". */
bool module_file_same(const struct module_file *a, const struct module_file *b);

/* Looks at the source file (stat; reads it only when that differs). True once
 * for each change: the file now has other bytes than those that run, or is
 * gone. The caller logs "still running <sha>". Cheap; call it at heartbeats. */
bool module_file_changed(struct module_file *file);

/*
 * Inspection alone, of a file where it lies: for pgflowctl inspect and shell
 * completion. No checks of owners, no copy.
 */

/* The descriptor's JSON text, NUL-terminated, to be freed with free(). NULL:
 * error that begins with the path: not found, not ELF, truncated, unresolved
 * symbol, no entry symbol, wrong magic or ABI, malformed descriptor, a
 * constructor that crashed or exited, nothing within 10 s. */
char *module_inspect(int runner_program, const char *path, size_t *size,
                     struct error *error) MUST_CHECK;

#endif
