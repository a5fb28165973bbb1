#include "options/option_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "log/log.h"
#include "options/settings.h"

#define TEXT(field) .kind = OPTION_TEXT, .offset = offsetof(struct settings, field)
#define LIST(field) .kind = OPTION_LIST, .offset = offsetof(struct settings, field)
#define SWITCH(field) .kind = OPTION_SWITCH, .offset = offsetof(struct settings, field)
#define CHOICE(field) .kind = OPTION_CHOICE, .offset = offsetof(struct settings, field)
#define NUMBER(field, low, high, usual)                                                            \
    .kind = OPTION_NUMBER, .offset = offsetof(struct settings, field), .min = (low),               \
    .max = (high), .fallback = (usual)

/* In the order of the enums in settings.h and log.h. */
static const char *const activate_words[] = {"auto", "manual", NULL};
static const char *const format_words[] = {"auto", "pretty", "logfmt", "json", NULL};
static const char *const level_words[] = {"debug", "info", "warn", "error", NULL};

const struct option_spec option_table[] = {
    {.name = "queue",
     TEXT(queue),
     .value_name = "NAME",
     .section = "What to serve",
     .help =
         "The one queue to poll. Not needed for one module whose steps are all on its flow's own "
         "queue."},
    {.name = "plugin",
     LIST(plugins),
     .value_name = "FILE",
     .help =
         "A flow module (.so); repeat it, old versions first. Give every version that may still "
         "have work on the queue, each with all its steps. A path, never searched for."},
    {.name = "function",
     TEXT(function),
     .value_name = "NAME",
     .help = "Identity in worker_functions, by which operators disable and enable this deployment "
             "(default: pgflow-host/<queue>)."},
    {.name = "activate",
     CHOICE(activate),
     .choices = activate_words,
     .fallback = ACTIVATE_MANUAL,
     .value_name = "auto|manual",
     .help = "manual: an operator switches an alias that has an active version; auto: offer the "
             "last-given module of each alias, by a login that is a member of pgflow_operator. The "
             "first version of an alias is active at once."},
    {.name = "adopt-queue",
     LIST(adopt_queues),
     .value_name = "NAME",
     .help =
         "Accept an existing PGMQ queue that pgflow does not know yet, as a shared queue; may be "
         "repeated."},

    {.name = "database",
     TEXT(database),
     .section = "Database",
     .value_name = "URL",
     .help =
         "Connection URL or keywords. Otherwise DATABASE_URL, otherwise the PG* variables. Never "
         "logged; better kept in the environment or the configuration file."},
    {.name = "db-connections",
     NUMBER(db_connections, 1, LIMIT_DB_CONNECTIONS, 2),
     .value_name = "N",
     .help =
         "Database connections. 1: one for everything; otherwise one for heartbeat and LISTEN, the "
         "others for work."},
    {.name = "connect-timeout",
     NUMBER(connect_timeout, 1, 3600, 30),
     .value_name = "S",
     .help = "Wait up to S seconds for the database at startup."},
    {.name = "no-listen", SWITCH(no_listen), .help = "Poll only; do not LISTEN for new work."},
    {.name = "pooled",
     SWITCH(pooled),
     .help =
         "The database is behind a transaction pooler: no LISTEN, no named statements, no session "
         "settings."},

    {.name = "concurrency",
     NUMBER(concurrency, 1, LIMIT_CONCURRENCY, 10),
     .section = "Pace",
     .value_name = "N",
     .help = "Run up to N handlers at once."},
    {.name = "batch-size",
     NUMBER(batch_size, 1, LIMIT_BATCH, 0),
     .value_name = "N",
     .help = "Widest claim (default: 100, or the concurrency where that is more). Claims are wider "
             "than "
             "the free slots only while handlers are short."},
    {.name = "read-visibility",
     NUMBER(read_visibility, 1, 3600, 5),
     .value_name = "S",
     .help = "Initial read visibility of a message."},
    {.name = "poll-interval",
     NUMBER(poll_interval, 10, 3600000, 100),
     .value_name = "MS",
     .help =
         "First pause between polls of an idle queue. It grows with jitter to 1 s; a longer one "
         "stays as it is."},
    {.name = "drain-timeout",
     NUMBER(drain_timeout, 0, 86400, 30),
     .value_name = "S",
     .help = "Let running handlers finish for up to S seconds after SIGTERM."},

    {.name = "handler-memory",
     NUMBER(handler_memory, 0, 1048576, 512),
     .section = "Handlers",
     .value_name = "MIB",
     .help = "Memory limit of a runner, 0 for none."},
    {.name = "handler-core",
     SWITCH(handler_core),
     .help = "Let a crashing handler write a core file."},
    {.name = "handler-user",
     TEXT(handler_user),
     .value_name = "USER",
     .help = "Run handlers as this user; the host must be root."},
    {.name = "pass-env",
     LIST(pass_env),
     .value_name = "NAME",
     .help = "An environment variable that handlers may see; may be repeated."},
    {.name = "max-payload",
     NUMBER(max_payload, 1, LIMIT_PAYLOAD_MAX_MIB, LIMIT_PAYLOAD_DEFAULT_MIB),
     .value_name = "MIB",
     .help = "Largest input or output of a task."},
    {.name = "runner-max-tasks",
     NUMBER(runner_max_tasks, 1, 1000000000, 10000),
     .value_name = "N",
     .help = "Replace a runner after N tasks."},
    {.name = "runner-idle",
     NUMBER(runner_idle, 1, 86400, 60),
     .value_name = "S",
     .help = "End an idle runner after S seconds; one stays for each module."},
    {.name = "module-dir",
     TEXT(module_dir),
     .value_name = "DIR",
     .help = "Where copies of the modules are kept for debuggers (default: $STATE_DIRECTORY, "
             "$XDG_CACHE_HOME/pgflow, a private folder in TMPDIR)."},
    {.name = "allow-writable-plugins",
     SWITCH(allow_writable_plugins),
     .help = "Accept modules that other users can change."},

    {.name = "metrics-listen",
     TEXT(metrics_listen),
     .section = "Watching",
     .value_name = "ADDR:PORT",
     .help =
         "Serve a status page, /metrics, /healthz and /readyz over HTTP on this address, without a "
         "password: "
         "127.0.0.1:9187 for this machine alone."},

    {.name = "log-format",
     CHOICE(log_format),
     .section = "Output, to stderr",
     .choices = format_words,
     .fallback = LOG_FORMAT_AUTO,
     .value_name = "FORMAT",
     .help = "pretty, logfmt, json, or auto: pretty on a terminal, else logfmt."},
    {.name = "log-level",
     CHOICE(log_level),
     .choices = level_words,
     .fallback = LOG_LEVEL_INFO,
     .value_name = "LEVEL",
     .help = "debug, info, warn or error."},

    {.name = "check",
     SWITCH(check),
     .section = "One-time runs",
     .help =
         "Go through startup in a transaction that is rolled back, print what would be compiled "
         "and activated, and exit as a start would."},
    {.name = "once", SWITCH(once), .help = "Make one claim, run its tasks, exit 0."},
    {.name = "exit-when-idle",
     NUMBER(exit_when_idle, 1, 86400, 0),
     .value_name = "S",
     .help =
         "Exit 0 after S seconds without claimable message, running handler or unreported result."},
    {.name = "exit-if-disabled",
     SWITCH(exit_if_disabled),
     .help = "Exit 78 instead of standing by while the function is disabled."},

    {.name = "config",
     TEXT(config),
     .place = OPTION_NOT_IN_FILE,
     .section = "About",
     .value_name = "FILE",
     .help = "Options as `name = value` lines; # starts a comment, a repeated name is a list."},
    {.name = "help", SWITCH(help), .place = OPTION_ON_COMMAND_LINE, .help = "This text."},
    {.name = "version",
     SWITCH(version),
     .place = OPTION_ON_COMMAND_LINE,
     .help = "Version, module ABI and libraries."},
};

const size_t option_count = sizeof option_table / sizeof option_table[0];

const struct option_spec *option_find(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

size_t option_index(const struct option_spec *spec)
{
    return (size_t)(spec - option_table);
}

void option_environment_name(const struct option_spec *spec, char *buffer, size_t size)
{
    snprintf(buffer, size, "PGFLOW_%s", spec->name);
    for (char *c = buffer; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

const struct option_spec *option_nearest(const char *name)
{
    const char *names[sizeof option_table / sizeof option_table[0]];

    for (size_t i = 0; i < option_count; i++)
        names[i] = option_table[i].name;
    const char *nearest = text_nearest(name, names, option_count);
    return nearest == NULL ? NULL : option_find(nearest);
}
