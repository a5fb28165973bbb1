/*
 * pgflowctl: reads the command line, opens the database if the command needs
 * it, runs the command, and shows an error once.
 */
#include "base/standard_fds.h"
#include "ctl/command.h"
#include "ctl/plain.h"
#include "db/migrate.h"
#include "db/sync.h"
#include "log/log.h"
#include "options/options.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Connecting comes before the command runs: the URL is wiped in between. */
static bool needs_database(const struct invocation *invocation)
{
    const struct command *command = invocation->command;
    return command->needs_database &&
           !(command->is_offline != NULL && command->is_offline(invocation));
}

/* --database is wiped by options_wipe_secrets. */
static void wipe_named_database(const struct invocation *invocation, int argc, char **argv)
{
    const char *option = invocation->command->database_option;
    const char *named = option != NULL ? invocation_value(invocation, option) : NULL;
    size_t size = named != NULL ? strlen(named) : 0;
    for (int i = 1; i < argc && size > 0; i++)
        if (named >= argv[i] && named <= argv[i] + strlen(argv[i]))
            memset(argv[i] + (named - argv[i]), 'x', size);
}

static int run_command(struct invocation *invocation, int argc, char **argv, struct error *error)
{
    if (needs_database(invocation) && !invocation_connect(invocation, error)) {
        if (!invocation->command->runs_without_one || error->code == ERROR_USAGE)
            return FAILED;
        invocation->unreachable = *error;
    }
    if (needs_database(invocation))
        wipe_named_database(invocation, argc, argv);
    if (!invocation->command->connects_itself)
        options_wipe_secrets(argc, argv, environ);
    bool fits = invocation->db == NULL || invocation->command->runs_without_one ||
                migrate_bears_program(invocation->db, error);
    int status = fits ? invocation->command->run(invocation, error) : FAILED;
    db_sync_close(invocation->db);
    return status;
}

/* The schema version tells which hosts this program fits. */
static void print_version(void)
{
    printf("pgflowctl %s, schema version %d\n", PGFLOW_VERSION, migrate_own_version());
}

static int run(int argc, char **argv, struct error *error)
{
    struct invocation invocation;
    if (!invocation_read(&invocation, argc, argv, error))
        return FAILED;
    if (invocation.version)
        print_version();
    else if (invocation.help && invocation.command != NULL)
        help_print_command(invocation.command);
    else if (invocation.help)
        help_print_all();
    else
        return run_command(&invocation, argc, argv, error);
    return DONE;
}

int main(int argc, char **argv)
{
    struct error error = {.code = ERROR_NONE};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    standard_fds_open();
    (void)sigaction(SIGPIPE, &ignore, NULL);
    /* What went wrong is the answer of the command, not a log. */
    log_open(STDERR_FILENO, LOG_FORMAT_AUTO, LOG_LEVEL_FATAL);
    int status = run(argc, argv, &error);
    if (status == FAILED) {
        (void)fputs("pgflowctl: ", stderr);
        plain_print(stderr, error.text);
        (void)fputc('\n', stderr);
        status = error.code;
    }
    if (!standard_output_end("pgflowctl") && status == DONE)
        status = ERROR_INTERNAL;
    /* Not by exit(): a name lookup that hangs would hold it up. */
    _exit(status);
}
