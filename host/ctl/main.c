/*
 * pgflowctl: reads the command line, opens the database if the command needs
 * it, runs the command, and shows an error once.
 */
#include "base/standard_fds.h"
#include "cli/options.h"
#include "ctl/command.h"
#include "ctl/plain.h"
#include "db/migrate.h"
#include "db/sync.h"
#include "observe/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Connecting comes before the command runs: the URL is wiped in between. */
static bool needs_database(const struct invocation *invocation)
{
    const struct command *command = invocation->command;
    return command->needs_database && !(command->is_offline && command->is_offline(invocation));
}

static int run_command(struct invocation *invocation, int argc, char **argv, struct error *error)
{
    if (needs_database(invocation) && !invocation_connect(invocation, error)) {
        if (!invocation->command->runs_without_one || error->code == ERROR_USAGE)
            return FAILED;
        invocation->unreachable = *error;
    }
    if (!invocation->command->connects_itself)
        options_wipe_secrets(argc, argv, environ);
    int status = invocation->command->run(invocation, error);
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
    else if (invocation.help && invocation.command)
        help_print_command(invocation.command);
    else if (invocation.help)
        help_print_all();
    else
        return run_command(&invocation, argc, argv, error);
    return DONE;
}

/* A pipe without a reader, or a connection without a peer. */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* Who reads no further, as head(1), has got what was wanted. Any other answer that is not
 * whole must not look like one. */
static int end_output(int status)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    if (!failed || reader_is_gone())
        return status;
    fprintf(stderr, "pgflowctl: the answer could not be written: %s\n",
            errno != 0 ? strerror(errno) : "its end is missing");
    return status == DONE ? ERROR_INTERNAL : status;
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
        fputs("pgflowctl: ", stderr);
        plain_print(stderr, error.text);
        fputc('\n', stderr);
        status = error.code;
    }
    status = end_output(status);
    /* Not by exit(): a name lookup that hangs would hold it up. */
    _exit(status);
}
