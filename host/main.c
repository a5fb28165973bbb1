/*
 * pgflow-host: reads the options, hides the credentials, runs the worker, and shows the one error
 * that ended it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/standard_fds.h"
#include "db/address.h"
#include "log/log.h"
#include "options/options.h"
#include "worker/worker.h"

/* Wrong use is answered on the terminal, before any log is set up. */
static int refuse(const struct error *error)
{
    fprintf(stderr, "pgflow-host: %s\n", error->text);
    return error->code;
}

/* Other processes of this user must not read the credentials from memory or be shown them. */
static void hide_credentials(struct settings *settings, int argc, char *argv[])
{
    options_wipe_secrets(argc, argv, environ);
    if (settings->database != NULL)
        explicit_bzero(settings->database, strlen(settings->database));
#ifndef PGFLOW_SANITIZED
    /* LeakSanitizer attaches to its own process, which this forbids. */
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

static int serve(struct settings *settings, int argc, char *argv[])
{
    struct error error;
    struct db_address *address = db_address_create(settings->database, &error);

    if (address == NULL)
        return refuse(&error);
    hide_credentials(settings, argc, argv);
    log_open(STDERR_FILENO, (enum log_format)settings->log_format,
             (enum log_level)settings->log_level);
    struct worker_end end = worker_run(settings, address);
    if (end.code != 0)
        log_error("failed", end.error.text, LOG_FIELD_INT("code", end.code));
    if (end.leave_at_once)
        _exit(end.code);
    db_address_destroy(address);
    return end.code;
}

int main(int argc, char *argv[])
{
    struct settings settings;
    struct error error;
    int code = 0;

    standard_fds_open();
    /* A log that nobody reads any more ends nothing. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (!options_read(&settings, argc, argv, environ, &error))
        code = refuse(&error);
    else if (settings.help)
        options_print_help();
    else if (settings.version)
        options_print_version();
    else
        code = serve(&settings, argc, argv);
    settings_finish(&settings);
    if (!standard_output_end("pgflow-host") && code == 0)
        code = ERROR_INTERNAL;
    return code;
}
