/*
 * pgflowctl migrate: the schema, brought to this program's version.
 */
#include "ctl/command.h"
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

int command_migrate(struct invocation *invocation, struct error *error)
{
    struct migrated migrated;
    if (invocation_value(invocation, "status"))
        return print_status(invocation, error);
    if (!migrate_apply(invocation->db, &migrated, error))
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
