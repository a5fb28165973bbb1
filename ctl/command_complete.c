/*
 * pgflowctl complete: called by the completion scripts of the shells, not by
 * people. stdin has the words of the line up to the cursor, each with a NUL behind
 * it; the first is the program, the last is what stands before the cursor. The
 * answer is one candidate a line, with a tab and what it is, or ":files SUFFIX",
 * ":folders". It never fails and never waits long: who presses a key wants none of
 * our errors.
 */
#include "ctl/command.h"
#include "ctl/complete.h"

#include "base/buf.h"
#include "base/text_file.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who waits for a key longer than this presses another one. */
enum { LONGEST_S = 5 };

struct words {
    struct buf text;
    const char *items[COMPLETE_WORDS];
    size_t count;
};

static void read_words(struct words *words)
{
    struct error ignored;
    buf_init(&words->text, LIMIT_MIB);
    words->count = 0;
    (void)!text_file_read_stream(stdin, "-", &words->text, &ignored);
    for (size_t at = 0; at < words->text.size && words->count < COMPLETE_WORDS;) {
        words->items[words->count++] = words->text.data + at;
        at += strlen(words->text.data + at) + 1;
    }
}

static void note_value(struct completion *completion, const char *option, const char *value)
{
    if (strncmp(option, "--plugin", strlen("--plugin")) == 0)
        completion->plugins[completion->plugin_count++] = value;
    else if (strncmp(option, "--database", strlen("--database")) == 0)
        completion->invocation->database = value;
    else if (strncmp(option, "--config", strlen("--config")) == 0)
        completion->invocation->config = value;
}

/* True when the option's value is the next word. */
static bool note_option(struct completion *completion, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t size = equals != NULL ? (size_t)(equals - word) : strlen(word);
    completion->given[completion->given_count++] = word;
    if (equals != NULL)
        note_value(completion, word, equals + 1);
    const char *value = complete_option_value(completion, word + 2, size - 2);
    return equals == NULL && value != NULL && *value;
}

static void note_argument(struct completion *completion, const char *word)
{
    if (!completion->is_host && completion->command == NULL)
        completion->command = command_find(word);
    else
        completion->arguments[completion->argument_count++] = word;
}

/* What stands before the word that is wanted. The option whose value that is, or
 * NULL. */
static const char *note_words(struct completion *completion, const struct words *words)
{
    const char *open = NULL;
    for (size_t i = 1; i + 1 < words->count; i++) {
        const char *word = words->items[i];
        if (open != NULL) {
            note_value(completion, open, word);
            open = NULL;
        } else if (strncmp(word, "--", 2) == 0) {
            open = note_option(completion, word) ? word : NULL;
        } else {
            note_argument(completion, word);
        }
    }
    return open;
}

static void complete(struct completion *completion, const char *open)
{
    const char *word = completion->current;
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    const char *option = equals != NULL ? word : open;
    if (option != NULL) {
        size_t size = equals != NULL ? (size_t)(equals - word) : strlen(option);
        const char *value = complete_option_value(completion, option + 2, size - 2);
        completion->current = equals != NULL ? equals + 1 : word;
        if (value != NULL)
            complete_specification(completion, value, 0);
    } else if (*word == '-' || completion->is_host) {
        complete_options(completion);
    } else if (completion->command == NULL) {
        complete_commands(completion);
    } else {
        complete_specification(completion, completion->command->arguments,
                               completion->argument_count);
    }
}

static bool is_host(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash != NULL ? slash + 1 : program, "pgflow-host") == 0;
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct words words;
    (void)error;
    /* A module that does not load, a file without an end: the kernel ends us, and our children
     * with us. */
    (void)alarm(LONGEST_S);
    read_words(&words);
    struct completion *completion = calloc(1, sizeof *completion);
    if (completion != NULL && buf_ok(&words.text) && words.count > 1) {
        completion->invocation = invocation;
        completion->is_host = is_host(words.items[0]);
        completion->current = words.items[words.count - 1];
        complete(completion, note_words(completion, &words));
    }
    free(completion);
    buf_free(&words.text);
    return DONE;
}

const struct command command_complete = {
    .name = "complete",
    .arguments = "",
    .summary = "for the completion scripts of the shells",
    .help = "Reads the words of a command line from stdin, each with a NUL behind it, and prints\n"
            "what can stand in the place of the last one.\n",
    .hidden = true,
    .connects_itself = true,
    .examples = "printf '%s\\0' pgflowctl start '' | pgflowctl complete\n",
    .run = execute,
};
