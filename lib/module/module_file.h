/*
 * A flow module as a file: looked at, copied, inspected. Synchronous, called at
 * startup before any change to the database; a bad module is an error that
 * names the file, what is wrong, and the remedy.
 *
 * Data flow: path as given -> one open descriptor -> all its bytes into a file
 * in memory, sealed -> checks of those bytes (owner and write bits of the file,
 * ELF whole), their digest; each library that it brings along likewise -> a
 * throw-away runner gets the sealed files as descriptors, maps them and prints
 * the descriptor as JSON. Every later runner gets the same descriptors: what was
 * inspected is what runs, whatever becomes of the source file, of a folder, or
 * by whose hand. A copy on disk is for debuggers alone (module_store.h).
 */
#ifndef PGFLOW_MODULE_FILE_H
#define PGFLOW_MODULE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The pgflow-runner program, opened once and executed from that descriptor, so
 * that a package upgrade changes nothing before a restart.
 */

/* `path` NULL: beside the running binary, in the libexec folder next to it, then in that of
 * the configured installation. The descriptor (close-on-exec, RUNNER_FD_ABOVE_ALL or more) is the
 * caller's; -1 and an error when there is none. */
int runner_program_open(const char *path, struct error *error) MUST_CHECK;

/*
 * How modules are opened, and the folder of the copies for debuggers.
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
    const char *folder;  /* --module-dir; NULL: $STATE_DIRECTORY, $XDG_CACHE_HOME/pgflow,
                            a folder of ours in TMPDIR; borrowed during the call */
    bool without_copies; /* the sources are at hand */
    int runner_program;  /* from runner_program_open; borrowed while the store lives */
    uid_t handler_uid;   /* --handler-user; (uid_t)-1, (gid_t)-1: the host's own user */
    gid_t handler_gid;
    bool allow_writable;         /* --allow-writable-plugins */
    const char *const *pass_env; /* --pass-env names, NULL-terminated, may be NULL; borrowed
                                    while the store lives */
    struct module_stop stop;
};

/* Makes the folder if needed, and removes copies that no host has used for a week. A folder that
 * cannot be used is an error (NULL) when it was asked for; else there are no copies, and
 * module_store_trouble() says why. */
struct module_store *module_store_open(const struct module_store_config *config,
                                       struct error *error) MUST_CHECK;
/* After the last module_file_close. Takes NULL. */
void module_store_close(struct module_store *store);
/* Absolute path, for the banner and messages. NULL: no copies are kept. */
const char *module_store_folder(const struct module_store *store);
/* Why there are none, or why the last one was not made; "": no trouble. */
const char *module_store_trouble(const struct module_store *store);

/*
 * One module.
 */
struct module_file;

/* All of it: seal, check, inspect. `path` without a slash is in the current
 * folder ("flow.so" means "./flow.so"); nothing is searched. NULL: error, which
 * begins with the path as given. The caller owns the result; the store outlives
 * it. Blocks at most 10 s for the throw-away runner, or until the store's `stop`. */
struct module_file *module_file_open(struct module_store *store, const char *path,
                                     struct error *error) MUST_CHECK;
/* Takes NULL. */
void module_file_close(struct module_file *file);

/* All borrowed until module_file_close. */
const char *module_file_path(const struct module_file *file);     /* as given */
const char *module_file_sha256(const struct module_file *file);   /* 64 hex digits: of the file */
const char *module_file_build_id(const struct module_file *file); /* hex; "" when it has none */
/* The descriptor as JSON text (runner/descriptor_json.h says its shape). */
const char *module_file_descriptor(const struct module_file *file, size_t *size);
/* What runners map, in this order: `fd` is the sealed file; `path` the copy for debuggers, or the
 * source where there is none. The first is the module; the libraries that it brings along follow,
 * each after those that it needs itself. */
struct module_part {
    int fd;
    char *path;
};
const struct module_part *module_file_parts(const struct module_file *file, size_t *count);

/* True when both were opened from the same bytes of the same file (device and
 * inode), whatever the paths: for "the same file twice". */
bool module_file_same(const struct module_file *a, const struct module_file *b);

/* Looks at the source file (stat; reads it only when that differs). True once
 * for each change: the file now has other bytes than those that run, or is
 * gone. The caller logs "still running <sha>". Cheap; call it at heartbeats, for it also says that
 * the copies are in use. */
bool module_file_changed(struct module_file *file);

/*
 * Inspection alone, of a file where it lies: for pgflowctl inspect and shell
 * completion. No copy.
 */

/* The descriptor's JSON text, NUL-terminated, to be freed with free(). NULL:
 * error that begins with the path: not found, not ELF, truncated, unresolved
 * symbol, no entry symbol, wrong magic or ABI, malformed descriptor, a
 * constructor that crashed or exited, nothing within 10 s. `check_owner`: also
 * what others can write, for one who does not ask for its constructors to run. */
char *module_inspect(int runner_program, const char *path, bool check_owner, size_t *size,
                     struct error *error) MUST_CHECK;

#endif
