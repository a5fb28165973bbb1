/*
 * pgflowctl preflight NEW.so... --queue Q --against DATABASE|snapshot.json: would hosts with
 * exactly these modules start on the queue and serve it? Nothing is written and no code of a
 * handler runs.
 */
#include "ctl/command.h"
#include "ctl/module_descriptor.h"
#include "ctl/preflight/preflight.h"
#include "ctl/preflight/preflight_report.h"

#include "base/text_file.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AGE_WITHOUT_OPTION (24 * 3600.0)

/* The modules of a set: their descriptors are borrowed by the registry. */
struct modules {
    struct registry *registry;
    char *descriptors[INVOCATION_ARGUMENTS];
    size_t count;
};

static bool add_module(struct modules *modules, const char *path, struct error *error)
{
    char *descriptor = module_descriptor_read(path, error);
    if (descriptor == NULL)
        return false;
    modules->descriptors[modules->count++] = descriptor;
    return registry_add(modules->registry,
                        &(struct registry_module){
                            .file = path, .descriptor = descriptor, .sha256 = "", .build_id = ""},
                        error);
}

static bool load_modules(struct modules *modules, const struct invocation *invocation,
                         struct error *error)
{
    modules->registry = registry_create(error);
    if (modules->registry == NULL)
        return false;
    for (size_t i = 0; i < invocation->count; i++)
        if (!add_module(modules, invocation->arguments[i], error))
            return false;
    return registry_bind_queue(modules->registry, invocation_value(invocation, "queue"), error);
}

static void unload_modules(struct modules *modules)
{
    registry_destroy(modules->registry);
    for (size_t i = 0; i < modules->count; i++)
        free(modules->descriptors[i]);
}

/* "-", a file that is there, or what is named like one; everything else is a database. */
static bool is_file(const char *against)
{
    size_t size = strlen(against);
    struct stat status;
    return strcmp(against, "-") == 0 || stat(against, &status) == 0 ||
           (size > 5 && strcmp(against + size - 5, ".json") == 0);
}

static bool is_offline(const struct invocation *invocation)
{
    const char *against = invocation_value(invocation, "against");
    return against != NULL && is_file(against);
}

static bool read_file(const char *path, struct buf *text, struct error *error)
{
    if (strcmp(path, "-") == 0 ? text_file_read_stream(stdin, "stdin", text, error)
                               : text_file_read(path, text, error))
        return true;
    return error_wrap(error, "--against");
}

/* Seconds of "90s", "30m", "24h", "7d"; -1: no age. */
static double read_age(const char *text)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (digits > 0 && digits <= 9 && text[digits] == units[i].unit && text[digits + 1] == '\0')
            return (double)strtol(text, NULL, 10) * units[i].seconds;
    return -1;
}

static bool warn_of_age(const struct invocation *invocation, const struct snapshot *snapshot,
                        struct error *error)
{
    const char *given = invocation_value(invocation, "max-age");
    double most = given != NULL ? read_age(given) : AGE_WITHOUT_OPTION;
    double age = snapshot_age(snapshot);

    if (most < 0)
        return error_set(error, ERROR_USAGE,
                         "--max-age '%s': give a number with s, m, h or d, as in 24h", given);
    if (age > most)
        (void)fprintf(stderr,
                      "pgflowctl: warning: the snapshot is of %s, older than %s; runs that were "
                      "started since are not in it\n",
                      snapshot->taken_at, given != NULL ? given : "24h");
    return true;
}

static bool read_snapshot(struct invocation *invocation, struct snapshot *snapshot,
                          struct error *error)
{
    const char *against = invocation_value(invocation, "against");
    bool from_file = is_offline(invocation);
    struct buf text;

    buf_init(&text, SNAPSHOT_MAX);
    bool ok =
        from_file ? read_file(against, &text, error) : snapshot_fetch(invocation->db, &text, error);
    ok = ok && snapshot_read(snapshot, &text, error);
    buf_free(&text);
    if (!ok && from_file && error->code == ERROR_CONFIG)
        return error_wrap(error, "--against %s", against);
    return ok && (!from_file || warn_of_age(invocation, snapshot, error));
}

static bool print_answer(const struct preflight *preflight, enum preflight_verdict verdict,
                         bool json, struct error *error)
{
    struct buf out;
    if (!json) {
        preflight_print(preflight, verdict);
        return true;
    }
    buf_init(&out, SNAPSHOT_MAX);
    preflight_put_json(&out, preflight, verdict);
    bool ok = buf_ok(&out) || error_out_of_memory(error);
    if (ok)
        (void)fputs(out.data, stdout);
    buf_free(&out);
    return ok;
}

static int judge(const struct invocation *invocation, const struct snapshot *snapshot,
                 const struct registry *registry, struct error *error)
{
    char function[LIMIT_FUNCTION_NAME + 1];
    const char *given = invocation_value(invocation, "function");
    enum preflight_verdict verdict;

    (void)snprintf(function, sizeof function, "%s%s", given != NULL ? given : "pgflow-host/",
                   given != NULL ? "" : registry_queue(registry));
    struct preflight preflight = {.snapshot = snapshot,
                                  .registry = registry,
                                  .function = function,
                                  .adopt = invocation_value(invocation, "adopt-queue"),
                                  .beside_live =
                                      invocation_value(invocation, "beside-live") != NULL};
    bool ok = preflight_judge(&preflight, &verdict, error) &&
              print_answer(&preflight, verdict, invocation->json, error);
    findings_free(&preflight.findings);
    if (!ok)
        return FAILED;
    return verdict == PREFLIGHT_NOT_SAFE ? ERROR_ANSWER_NO : DONE;
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct modules modules = {.count = 0};
    struct snapshot snapshot = {.flow_count = 0};
    int status = FAILED;

    if (load_modules(&modules, invocation, error) && read_snapshot(invocation, &snapshot, error))
        status = judge(invocation, &snapshot, modules.registry, error);
    snapshot_free(&snapshot);
    unload_modules(&modules);
    return status;
}

const struct command command_preflight = {
    .name = "preflight",
    .arguments = "FILE.so...",
    .summary = "tell whether hosts with these modules would break running work",
    .help =
        "Judges the set of modules, in the order of pgflow-host's --plugin, against a database\n"
        "or a file of pgflowctl snapshot: would every flow compile as it is, and would hosts\n"
        "with exactly these modules serve all that the queue holds or may still get? The\n"
        "answer is that of pgflow-host --check. Nothing is written; no handler or init runs.\n"
        "Exit 0: safe. Exit 1: not safe; each pair that is missing, what waits for it and\n"
        "since when, and the remedy. Exit 78: it cannot be told. Queues are judged one by\n"
        "one. Options that differ, aliases that would move and queues that lose their server\n"
        "are named beside the verdict.\n",
    .least = 1,
    .most = INVOCATION_ARGUMENTS,
    .needs_database = true,
    .is_offline = is_offline,
    .database_option = "against",
    .examples = "pgflowctl preflight audit_v1.so audit_v2.so --queue audit --against needs.json\n"
                "pgflowctl preflight build/*.so --queue audit --against \"$DATABASE_URL\" --json\n",
    .run = execute,
    .options =
        {
            {"queue", "QUEUE", "the queue of these hosts (default: that of the one plain flow)"},
            {"against", "DATABASE|FILE",
             "a database, or a snapshot, - for stdin (default: the database of --database)"},
            {"function", "FUNCTION", "the hosts' --function (default: pgflow-host/QUEUE)"},
            {"adopt-queue", "QUEUES", "the hosts' --adopt-queue, separated by commas"},
            {"max-age", "AGE", "warn of an older snapshot: 90s, 30m, 24h, 7d (default: 24h)"},
            {"beside-live", NULL, "pairs that live hosts of the queue can run count as served"},
            {NULL, NULL, NULL},
        },
};
