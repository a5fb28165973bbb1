/*
 * Completion of command lines of pgflow-host and pgflowctl: what can stand where
 * the cursor is. A shell's script hands the words over and shows what comes back;
 * what the words mean is decided here, from the same tables as --help.
 */
#ifndef PGFLOW_CTL_COMPLETE_H
#define PGFLOW_CTL_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

struct command;
struct invocation;

enum { COMPLETE_WORDS = 512 };

struct completion {
    struct invocation *invocation; /* its database, opened when a value asks for it */
    bool is_host;                  /* pgflow-host's line, else pgflowctl's */
    const struct command *command; /* of pgflowctl, once its word was read */
    const char *arguments[COMPLETE_WORDS];
    size_t argument_count;
    const char *given[COMPLETE_WORDS]; /* options, as they stand: "--queue", "--queue=q" */
    size_t given_count;
    const char *plugins[COMPLETE_WORDS];
    size_t plugin_count;
    const char *current; /* what is there of the word or value that is wanted */
};

/* What may follow the option of that name: a placeholder or words as in --help;
 * NULL: a switch, "": an unknown option. */
const char *complete_option_value(const struct completion *completion, const char *name,
                                  size_t size);

/* ---- Each prints candidates, one a line: the word, a tab, what it is ---- */

void complete_one(const struct completion *completion, const char *word, const char *about);
/* The options that can still be given. */
void complete_options(const struct completion *completion);
void complete_commands(const struct completion *completion);
/* A specification as in --help, "[enable|disable FUNCTION...]", "FLOW|FILE.so": of its
 * word number `index` each alternative, a placeholder or itself. */
void complete_specification(const struct completion *completion, const char *specification,
                            size_t index);

#endif
