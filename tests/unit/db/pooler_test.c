/*
 * Behind PgBouncer in transaction mode: two clients share one server, so
 * whatever stays behind in a session meets the other one.
 */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture fixture;
static struct fixture other;
static char folder[256];
static pid_t pooler;

static const char *find_binary(void)
{
    static const char *const places[] = {"/usr/sbin/pgbouncer", UNPACKED_PGBOUNCER};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (access(places[i], X_OK) == 0)
            return places[i];
    }
    return NULL;
}

static bool is_installed(void)
{
    return find_binary() != NULL;
}

/* To where the user that it runs as can see it: the build may be in a closed folder. */
static void copy_binary(const char *path)
{
    char block[4096];
    size_t size;
    FILE *from = fopen(find_binary(), "rb");
    FILE *to = fopen(path, "wb");
    cr_assert(from && to);
    while ((size = fread(block, 1, sizeof block, from)) > 0)
        cr_assert(eq(sz, fwrite(block, 1, size, to), size));
    (void)fclose(from);
    (void)fclose(to);
    chmod(path, 0755);
}

static void write_config(char *path, size_t size)
{
    snprintf(path, size, "%s/pgbouncer.ini", folder);
    FILE *file = fopen(path, "w");
    fprintf(file,
            "[databases]\npostgres = host=%s user=postgres pool_size=1\n"
            "[pgbouncer]\npool_mode = transaction\nauth_type = any\nlisten_addr =\n"
            "listen_port = 6432\nunix_socket_dir = %s\nlogfile = %s/log\n",
            getenv("PGHOST"), folder, folder);
    (void)fclose(file);
    chmod(path, 0644);
}

/* PgBouncer, like PostgreSQL, refuses to run as root. */
static void start_pooler(void)
{
    char path[300];
    char binary[300];
    snprintf(folder, sizeof folder, "%s/pooler-XXXXXX", getenv("PGF_CLUSTER"));
    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    chmod(folder, 0777);
    write_config(path, sizeof path);
    snprintf(binary, sizeof binary, "%s/pgbouncer", folder);
    copy_binary(binary);
    pooler = fork();
    if (pooler == 0) {
        if (getuid() == 0)
            execlp("setpriv", "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                   binary, "-q", path, (char *)NULL);
        else
            execl(binary, "pgbouncer", "-q", path, (char *)NULL);
        _exit(127);
    }
}

static void stop_pooler(void)
{
    (void)kill(pooler, SIGKILL);
    (void)waitpid(pooler, NULL, 0);
}

static void open_pooled(struct fixture *which)
{
    char url[512];
    struct db_config config = fixture_config(which);
    config.pooled = true;
    config.connections = 2;
    config.listen_queue = "audit";
    snprintf(url, sizeof url, "host=%s port=6432", folder);
    fixture_open(which, url, config);
    UNTIL(which, which->ups == 1 || which->has_failed);
    cr_assert(not(which->has_failed), "%s", which->fatal.text);
}

Test(pooler, two_hosts_share_one_server)
{
    static const struct statement named = {"named", "select $1::text"};
    struct answer first = {0};
    struct answer second = {0};
    if (!is_installed())
        cr_skip("pgbouncer is not installed");
    start_pooler();
    open_pooled(&fixture);
    open_pooled(&other);

    for (int i = 0; i < 20; i++) {
        first = second = (struct answer){0};
        fixture_send_statement(&fixture, &first, &named, "one");
        fixture_send_statement(&other, &second, &named, "two");
        UNTIL(&fixture, first.count == 1);
        UNTIL(&other, second.count == 1);
        cr_assert(eq(str, first.value, "one"), "%s", first.text);
        cr_assert(eq(str, second.value, "two"), "%s", second.text);
        free(first.value);
        free(second.value);
    }

    fixture_close(&fixture);
    fixture_close(&other);
    stop_pooler();
}

static void on_done(void *ctx, const struct db_status *status)
{
    *(enum db_outcome *)ctx = status->outcome;
}

Test(pooler, check_is_rolled_back_there_too)
{
    enum db_outcome begun = DB_LOST;
    enum db_outcome ended = DB_LOST;
    struct answer made = {0};
    if (!is_installed())
        cr_skip("pgbouncer is not installed");
    start_pooler();
    open_pooled(&fixture);

    db_check_begin(fixture.db, on_done, &begun);
    fixture_send(&fixture, &made, "create table left_behind ()", NULL);
    db_check_end(fixture.db, on_done, &ended);
    UNTIL(&fixture, ended == DB_OK);

    cr_assert(eq(int, made.outcome, DB_OK), "%s", made.text);
    char *found = fixture_admin(&fixture, "select to_regclass('left_behind')");
    cr_assert(eq(ptr, found, NULL));
    fixture_close(&fixture);
    stop_pooler();
}
