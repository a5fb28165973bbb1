/*
 * The commands of pgflowctl: a table of them, and what each is given. One
 * command a file (command_<name>.c), with its help and its options; a new one
 * is a file, a name below, and a row in command_table.c.
 */
#ifndef PGFLOW_CTL_COMMAND_H
#define PGFLOW_CTL_COMMAND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct db_sync;
struct invocation;

enum { COMMAND_OPTIONS = 20 };

struct command_option {
    const char *name;       /* without the dashes */
    const char *value_name; /* NULL: a switch */
    const char *help;
};

/* The exit status of a command that worked: 0 yes or done, ERROR_ANSWER_NO the
 * answer is no. FAILED: the error is set, its code is the exit status. */
enum { DONE = 0, FAILED = -1 };

struct command {
    const char *name;
    const char *arguments; /* "FLOW", "[enable|disable NAME...]"; "" */
    const char *summary;   /* one line, for the list */
    const char *help;      /* paragraphs, each line ends with \n */
    const char *examples;  /* command lines, as a shell takes them, each ends with \n */
    size_t least, most;    /* how many arguments */
    bool needs_database;
    /* NULL, or whether it needs none for these arguments. */
    bool (*is_offline)(const struct invocation *invocation);
    const char *database_option; /* NULL, or one whose value names the database, too */
    bool connects_itself;        /* from URL and environment, which stay readable for it */
    bool hidden;                 /* for programs: neither listed nor offered */
    bool runs_without_one;       /* when it cannot be reached, too: see unreachable */
    int (*run)(struct invocation *invocation, struct error *error);
    struct command_option options[COMMAND_OPTIONS]; /* ends with a NULL name */
};

extern const struct command *const command_table[];
extern const size_t command_count;

/* Those of every command. */
extern const struct command_option command_shared_options[];
extern const size_t command_shared_option_count;

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);
/* ERROR_USAGE with the nearest name. Always false. */
bool command_unknown(const char *name, struct error *error);

enum { INVOCATION_ARGUMENTS = 256 };

/* A parsed command line; everything is borrowed from argv but the connection. */
struct invocation {
    const struct command *command; /* NULL: help or version of the program */
    bool help, version, json;
    const char *database; /* --database, or NULL */
    const char *config;   /* --config, or NULL */
    const char *arguments[INVOCATION_ARGUMENTS];
    size_t count;
    const char *values[COMMAND_OPTIONS]; /* by option of the command; "" for a switch that is on */
    bool hurried;                        /* connecting and each question take 1 s at most */
    struct db_sync *db;                  /* open when the command needs one */
    struct error unreachable;            /* why db is NULL, where runs_without_one */
};

/* argv[0] is skipped; shared options may stand before or after the command. */
bool invocation_read(struct invocation *invocation, int argc, char *const argv[],
                     struct error *error) MUST_CHECK;

/* The place of an option in invocation->values; COMMAND_OPTIONS: the command has none of that
 * name. `command` may be NULL. */
size_t invocation_option_index(const struct command *command, const char *name, size_t size);

/* The value of the command's option, "" for a switch that is on, NULL: not given. */
const char *invocation_value(const struct invocation *invocation, const char *option);
/* A whole number from `least` to `most`; `fallback` when not given. */
bool invocation_number(const struct invocation *invocation, const char *option, int least, int most,
                       int fallback, int *number, struct error *error) MUST_CHECK;

/* Opens invocation->db. */
bool invocation_connect(struct invocation *invocation, struct error *error) MUST_CHECK;

/* Printed to stdout. */
void help_print_all(void);
void help_print_command(const struct command *command);

/* ---- The commands, each in the file of its name ---- */

extern const struct command command_migrate;
extern const struct command command_inspect;
extern const struct command command_new;
extern const struct command command_lint;
extern const struct command command_compare;
extern const struct command command_preflight;
extern const struct command command_exec;
extern const struct command command_replay;
extern const struct command command_start;
extern const struct command command_runs;
extern const struct command command_run;
extern const struct command command_retry;
extern const struct command command_resume;
extern const struct command command_cancel;
extern const struct command command_workers;
extern const struct command command_queue;
extern const struct command command_metrics;
extern const struct command command_functions;
extern const struct command command_aliases;
extern const struct command command_activate;
extern const struct command command_coverage;
extern const struct command command_graph;
extern const struct command command_options;
extern const struct command command_snapshot;
extern const struct command command_drain;
extern const struct command command_retire;
extern const struct command command_delete;
extern const struct command command_doctor;
extern const struct command command_prune;
extern const struct command command_rollout;
extern const struct command command_complete;

#endif
