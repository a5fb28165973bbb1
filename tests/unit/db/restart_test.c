/*
 * PostgreSQL goes away and comes back under the connections.
 */
#include "fixture.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static struct fixture fixture;

static void pg_control(const char *verb)
{
    char *argv[] = {"pg-control", (char *)verb, NULL};
    pid_t pid = 0;
    int status = -1;
    cr_assert(eq(int, posix_spawnp(&pid, "pg-control", NULL, NULL, argv, environ), 0));
    cr_assert(eq(int, (int)waitpid(pid, &status, 0), (int)pid));
    cr_assert(eq(int, status, 0), "pg-control %s", verb);
}

static void work_survives(const char *verb)
{
    struct answer lost = {0};
    struct answer after = {0};
    struct db_config config = fixture_config(&fixture);
    config.connections = 2;
    config.listen_queue = "audit";
    fixture_up(&fixture, config);
    fixture_send(&fixture, &lost, "select pg_sleep(60)", NULL);
    (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);

    pg_control(verb);
    UNTIL(&fixture, fixture.downs == 1);
    if (strcmp(verb, "restart") != 0) {
        UNTIL(&fixture, fixture.db->connections[1].failures > 2);
        pg_control("start");
    }
    UNTIL(&fixture, fixture.ups == 2);
    fixture_send(&fixture, &after, "select 1", NULL);
    UNTIL(&fixture, after.count == 1);

    cr_assert(eq(int, lost.outcome, DB_LOST));
    cr_assert(eq(int, after.outcome, DB_OK));
    cr_assert(not(fixture.has_failed));
    free(after.value);
    fixture_close(&fixture);
}

Test(restart, a_restart_is_lived_through)
{
    work_survives("restart");
}

Test(restart, a_server_that_is_away_is_waited_for)
{
    work_survives("stop");
}

Test(restart, a_crash_is_lived_through)
{
    work_survives("crash");
}

Test(restart, a_server_that_starts_late_is_found_at_startup)
{
    pg_control("stop");
    fixture_open(&fixture, NULL, fixture_config(&fixture));
    UNTIL(&fixture, fixture.db->connections[0].failures > 1);

    pg_control("start");
    UNTIL(&fixture, fixture.ups == 1 || fixture.has_failed);

    cr_assert(not(fixture.has_failed), "%s", fixture.fatal.text);
    fixture_close(&fixture);
}
