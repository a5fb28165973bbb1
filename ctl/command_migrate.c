/*
 * pgflowctl migrate: the schema, brought to this program's version.
 */
#include "ctl/command.h"

#include "ctl/plain.h"
#include "db/migrate.h"
#include "db/sync.h"

#include <stdio.h>

static void print_json(const struct migrated *migrated)
{
    printf("{\"before\": %d, \"after\": %d, \"program\": %d}\n", migrated->before, migrated->after,
           migrate_own_version());
}

static int print_status(const struct invocation *invocation, struct error *error)
{
    struct migrated now;
    if (!migrate_read(invocation->db, &now.before, error))
        return FAILED;
    now.after = now.before;
    if (invocation->json)
        print_json(&now);
    else if (now.before == 0)
        printf("%s: the schema pgflow is not installed; this program brings version %d\n",
               db_sync_label(invocation->db), migrate_own_version());
    else
        printf("%s: the schema pgflow is at version %d, this program brings version %d\n",
               db_sync_label(invocation->db), now.before, migrate_own_version());
    return now.before < migrate_own_version() ? ERROR_ANSWER_NO : DONE;
}

static void print_wait(void *ctx, const char *line)
{
    (void)ctx;
    (void)fputs("pgflowctl: ", stderr);
    plain_print(stderr, line);
    (void)fputc('\n', stderr);
}

static int contract(struct invocation *invocation, struct upgrade *upgrade, struct error *error)
{
    if (!upgrade_contract(upgrade, error))
        return FAILED;
    if (invocation->json)
        printf("{\"version\": %d, \"oldestHost\": %d}\n", migrate_own_version(),
               migrate_own_version());
    else
        printf("%s: the schema pgflow runs hosts of version %d on only\n",
               db_sync_label(invocation->db), migrate_own_version());
    return DONE;
}

static int go_down(struct invocation *invocation, struct upgrade *upgrade, struct error *error)
{
    struct migrated migrated;
    if (!migrate_read(invocation->db, &migrated.before, error))
        return FAILED;
    if (migrated.before == 0) {
        (void)error_set(error, ERROR_CONFIG, "the schema pgflow is not installed in this database");
        return FAILED;
    }
    if (!upgrade_down(upgrade, error) || !migrate_read(invocation->db, &migrated.after, error))
        return FAILED;
    if (invocation->json)
        print_json(&migrated);
    else
        printf("%s: the schema pgflow is at version %d\n", db_sync_label(invocation->db),
               migrated.after);
    return DONE;
}

static int apply(struct invocation *invocation, struct upgrade *upgrade, struct error *error)
{
    struct migrated migrated;
    if (!migrate_apply(upgrade, &migrated, error))
        return FAILED;
    if (invocation->json)
        print_json(&migrated);
    else if (migrated.after > migrate_own_version())
        printf("%s: the schema pgflow is at version %d, newer than the %d of this program; nothing "
               "to do\n",
               db_sync_label(invocation->db), migrated.after, migrate_own_version());
    else if (migrated.before == migrated.after)
        printf("%s: the schema pgflow is at version %d, nothing to do\n",
               db_sync_label(invocation->db), migrated.after);
    else
        printf("%s: migrated the schema pgflow from version %d to %d\n",
               db_sync_label(invocation->db), migrated.before, migrated.after);
    return DONE;
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct upgrade upgrade = {.sync = invocation->db, .tell = print_wait};
    bool status = invocation_value(invocation, "status") != NULL;
    bool contracts = invocation_value(invocation, "contract") != NULL;
    bool down = invocation_value(invocation, "down") != NULL;
    if (status + contracts + down > 1) {
        (void)error_set(error, ERROR_USAGE, "--status, --contract and --down exclude each other");
        return FAILED;
    }
    if (status)
        return print_status(invocation, error);
    if (contracts)
        return contract(invocation, &upgrade, error);
    return down ? go_down(invocation, &upgrade, error) : apply(invocation, &upgrade, error);
}

const struct command command_migrate = {
    .name = "migrate",
    .arguments = "",
    .summary = "install or update the schema pgflow",
    .help = "Installs the schema that this program carries, or upgrades an earlier version\n"
            "while its hosts work. It first adds what is new, each statement in a transaction\n"
            "of its own that waits at most 100 ms for a lock, then replaces all functions in\n"
            "one transaction. You may run it again at any time, also from several places at\n"
            "once; if it was interrupted, it continues. Hosts of the release before continue\n"
            "until --contract, which is refused while one of them lives. --down returns to the\n"
            "version before. It is refused while something of the present version is used, or\n"
            "a host of it lives.\n",
    .needs_database = true,
    .examples = "pgflowctl migrate\n"
                "pgflowctl migrate --status && echo up to date\n",
    .run = execute,
    .options = {{"status", NULL, "only tell; exit 1 when something is missing"},
                {"contract", NULL, "end the support of hosts of the version before"},
                {"down", NULL, "go back to the version before"}},
};
