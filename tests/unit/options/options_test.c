#include "options/options.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/log.h"

static struct settings settings;
static struct error error;

static char *no_environment[] = {NULL};

#define READ(environment, ...)                                                                     \
    read_options(environment, (char *[]){"pgflow-host", __VA_ARGS__, NULL})

static bool read_options(char **environment, char **argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    settings_finish(&settings);
    error_clear(&error);
    return options_read(&settings, argc, argv, environment, &error);
}

static void assert_refused(const char *text)
{
    cr_assert(eq(int, error.code, ERROR_USAGE));
    cr_assert(ne(ptr, strstr(error.text, text), NULL), "expected '%s' in '%s'", text, error.text);
}

static char *config_file(const char *text)
{
    static char path[] = "/tmp/pgflow-options-XXXXXX";
    snprintf(path, sizeof path, "%s", "/tmp/pgflow-options-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(eq(long, write(fd, text, strlen(text)), (long)strlen(text)));
    (void)close(fd);
    return path;
}

static void finish(void)
{
    settings_finish(&settings);
}

TestSuite(options, .fini = finish);

Test(options, take_documented_defaults)
{
    cr_assert(READ(no_environment, "--plugin", "./flow.so"), "%s", error.text);

    cr_assert(eq(ptr, settings.queue, NULL));
    cr_assert(eq(sz, settings.plugins.count, 1));
    cr_assert(eq(str, settings.plugins.items[0], "./flow.so"));
    cr_assert(eq(int, settings.concurrency, 10));
    cr_assert(eq(int, settings.batch_size, 100));
    cr_assert(eq(int, settings.read_visibility, 5));
    cr_assert(eq(int, settings.poll_interval, 100));
    cr_assert(eq(int, settings.db_connections, 2));
    cr_assert(eq(int, settings.connect_timeout, 30));
    cr_assert(eq(int, settings.drain_timeout, 30));
    cr_assert(eq(int, settings.activate, ACTIVATE_MANUAL));
    cr_assert(eq(int, settings.handler_memory, 512));
    cr_assert(eq(int, settings.runner_max_tasks, 10000));
    cr_assert(eq(int, settings.runner_idle, 60));
    cr_assert(eq(int, settings.max_payload, 16));
    cr_assert(eq(int, settings.log_format, LOG_FORMAT_AUTO));
    cr_assert(eq(int, settings.log_level, LOG_LEVEL_INFO));
    cr_assert(eq(int, settings.exit_when_idle, 0));
}

Test(options, batch_size_is_never_below_concurrency)
{
    cr_assert(READ(no_environment, "--plugin", "a.so", "--concurrency=137"), "%s", error.text);

    cr_assert(eq(int, settings.batch_size, 137));
}

Test(options, command_line_wins_over_environment_over_config)
{
    char config[64];
    snprintf(config, sizeof config, "PGFLOW_CONFIG=%s",
             config_file("concurrency = 3\nbatch-size = 4\npoll-interval = 50\nplugin = x.so\n"));
    char *environment[] = {"PGFLOW_CONCURRENCY=5", "PGFLOW_BATCH_SIZE=6", config, NULL};

    cr_assert(READ(environment, "--concurrency", "7"), "%s", error.text);

    cr_assert(eq(int, settings.concurrency, 7));
    cr_assert(eq(int, settings.batch_size, 6));
    cr_assert(eq(int, settings.poll_interval, 50));
    cr_assert(eq(str, settings.plugins.items[0], "x.so"));
    (void)unlink(strchr(config, '=') + 1);
}

Test(options, list_given_in_one_place_replaces_the_one_below)
{
    char *environment[] = {"PGFLOW_PLUGIN=a.so:b.so", NULL};

    cr_assert(READ(environment, "--plugin", "c.so"), "%s", error.text);

    cr_assert(eq(sz, settings.plugins.count, 1));
    cr_assert(eq(str, settings.plugins.items[0], "c.so"));
}

Test(options, plugin_in_environment_splits_at_colons)
{
    char *environment[] = {"PGFLOW_PLUGIN=a.so:b.so", NULL};

    cr_assert(READ(environment, "--once"), "%s", error.text);

    cr_assert(eq(sz, settings.plugins.count, 2));
    cr_assert(eq(str, settings.plugins.items[1], "b.so"));
    cr_assert(settings.once);
}

Test(options, repeated_name_in_config_is_a_list_and_comments_are_dropped)
{
    char *path = config_file("# both versions\nplugin = a.so   # old\nplugin=b.so\n\n"
                             "database = postgres://h/db#1\n");

    cr_assert(READ(no_environment, "--config", path), "%s", error.text);

    cr_assert(eq(sz, settings.plugins.count, 2));
    cr_assert(eq(str, settings.plugins.items[0], "a.so"));
    cr_assert(eq(str, settings.database, "postgres://h/db#1"));
    (void)unlink(path);
}

Test(options, database_falls_back_to_database_url)
{
    char *environment[] = {"DATABASE_URL=postgres://low/db", NULL};
    cr_assert(READ(environment, "--plugin", "a.so"), "%s", error.text);
    cr_assert(eq(str, settings.database, "postgres://low/db"));
    settings_finish(&settings);

    char *both[] = {"DATABASE_URL=postgres://low/db", "PGFLOW_DATABASE=postgres://high/db", NULL};
    cr_assert(READ(both, "--plugin", "a.so"), "%s", error.text);
    cr_assert(eq(str, settings.database, "postgres://high/db"));
}

Test(options, switches_take_words_everywhere)
{
    char *environment[] = {"PGFLOW_NO_LISTEN=true", "PGFLOW_POOLED=1", NULL};

    cr_assert(READ(environment, "--plugin", "a.so", "--pooled=0", "--handler-core"), "%s",
              error.text);

    cr_assert(settings.no_listen);
    cr_assert(not(settings.pooled));
    cr_assert(settings.handler_core);
}

Test(options, help_answers_even_when_the_rest_is_wrong)
{
    char *environment[] = {"PGFLOW_NONSENSE=1", NULL};

    cr_assert(READ(environment, "--help"), "%s", error.text);
    cr_assert(settings.help);

    cr_assert(READ(environment, "--nonsense", "--concurrency", "x", "-h"), "%s", error.text);
    cr_assert(settings.help);

    cr_assert(READ(environment, "--nonsense", "--version"), "%s", error.text);
    cr_assert(settings.version);
}

Test(options, function_is_text_that_the_database_and_the_log_can_show)
{
    cr_assert(READ(no_environment, "--plugin", "a.so", "--function", "Zürich/mail"), "%s",
              error.text);

    cr_assert(not(READ(no_environment, "--plugin", "a.so", "--function", "a\nb")));
    assert_refused("--function holds control characters");
    cr_assert(not(READ(no_environment, "--plugin", "a.so", "--function", "a\xff")));
    assert_refused("--function holds control characters, or bytes that are not UTF-8");
}

Test(options, pass_env_takes_names_only)
{
    cr_assert(not(READ(no_environment, "--plugin", "a.so", "--pass-env", "TOKEN=s3cret")));

    assert_refused("--pass-env TOKEN");
    cr_assert(eq(ptr, strstr(error.text, "s3cret"), NULL));
}

/* Who starts runners walks it to its end, without the count. */
Test(options, list_ends_with_null)
{
    cr_assert(READ(no_environment, "--plugin", "a.so", "--pass-env", "A", "--pass-env", "B",
                   "--pass-env", "C"),
              "%s", error.text);

    cr_assert(eq(sz, settings.pass_env.count, 3));
    cr_assert(eq(str, settings.pass_env.items[2], "C"));
    cr_assert(eq(ptr, settings.pass_env.items[3], NULL));
}

Test(options, metrics_listen_takes_a_numeric_address_with_a_port)
{
    cr_assert(not(READ(no_environment, "--plugin", "a.so", "--metrics-listen", "localhost:9187")));
    assert_refused("--metrics-listen: 'localhost:9187' is no numeric address");

    finish();
    cr_assert(READ(no_environment, "--plugin", "a.so", "--metrics-listen", "[::1]:9187"));
    cr_assert(eq(str, settings.metrics_listen, "[::1]:9187"));
}

Test(options, name_the_nearest_option)
{
    cr_assert(not(READ(no_environment, "--concurency", "3")));
    assert_refused("unknown option --concurency; did you mean --concurrency?");

    char *environment[] = {"PGFLOW_BATCHSIZE=3", NULL};
    cr_assert(not(READ(environment, "--plugin", "a.so")));
    assert_refused("PGFLOW_BATCHSIZE in the environment");
    assert_refused("did you mean PGFLOW_BATCH_SIZE?");

    char *path = config_file("plugin = a.so\nquue = x\n");
    cr_assert(not(READ(no_environment, "--config", path)));
    assert_refused(":2: unknown option 'quue'; did you mean 'queue'?");
    (void)unlink(path);
}

Test(options, lower_case_environment_name_is_refused)
{
    char *environment[] = {"PGFLOW_queue=x", NULL};

    cr_assert(not(READ(environment, "--plugin", "a.so")));

    assert_refused("did you mean PGFLOW_QUEUE?");
}

Test(options, refuse_values_out_of_range)
{
    cr_assert(not(READ(no_environment, "--poll-interval", "9")));
    assert_refused("--poll-interval: 9 is out of range; give 10 to");
    cr_assert(not(READ(no_environment, "--concurrency", "ten")));
    assert_refused("--concurrency: 'ten' is no whole number; give 1 to 1000");
    cr_assert(not(READ(no_environment, "--concurrency", " 3")));
    assert_refused("no whole number");
    cr_assert(not(READ(no_environment, "--concurrency", "99999999999999999999")));
    assert_refused("out of range");
    cr_assert(not(READ(no_environment, "--log-format", "xml")));
    assert_refused("--log-format: 'xml' is unknown; give auto, pretty, logfmt or json");
    cr_assert(not(READ(no_environment, "--once=perhaps")));
    assert_refused("give 1, 0, true or false");
}

Test(options, refuse_what_cannot_be_read)
{
    cr_assert(not(READ(no_environment, "flow.so")));
    assert_refused("--plugin FILE");
    cr_assert(not(READ(no_environment, "--queue")));
    assert_refused("--queue needs a value: --queue NAME");
    cr_assert(not(READ(no_environment, "--queue", "a", "--queue", "b")));
    assert_refused("--queue is given twice");
    cr_assert(not(READ(no_environment, "--queue", "")));
    assert_refused("--queue is empty");
    cr_assert(not(READ(no_environment, "-q")));
    assert_refused("unknown option -q");
    cr_assert(not(READ(no_environment, "--once")));
    assert_refused("no module given");
    cr_assert(not(READ(no_environment, "--config", "/nowhere/at/all")));
    assert_refused("cannot open '/nowhere/at/all': No such file");
}

Test(options, config_may_come_from_an_editor_of_another_system)
{
    char *path = config_file("\xEF\xBB\xBFplugin = a.so\r\nconcurrency = 3\r\n");

    cr_assert(READ(no_environment, "--config", path), "%s", error.text);

    cr_assert(eq(str, settings.plugins.items[0], "a.so"));
    cr_assert(eq(int, settings.concurrency, 3));
    (void)unlink(path);
}

Test(options, config_value_in_quotes_is_refused_without_showing_it)
{
    char *path = config_file("plugin = a.so\ndatabase = \"postgres://u:s3cret@h/d\"\n");

    cr_assert(not(READ(no_environment, "--config", path)));

    assert_refused(":2: database: a value stands without quotes");
    cr_assert(eq(ptr, strstr(error.text, "s3cret"), NULL), "%s", error.text);
    (void)unlink(path);
}

Test(options, config_of_more_than_1_mib_is_refused)
{
    char *text = calloc(1, LIMIT_CONFIG_FILE + 2);
    memset(text, '\n', LIMIT_CONFIG_FILE);
    char *path = config_file(text);
    cr_assert(not(READ(no_environment, "--config", path)));
    assert_refused("no module given");
    (void)unlink(path);

    text[LIMIT_CONFIG_FILE] = '\n';
    path = config_file(text);
    cr_assert(not(READ(no_environment, "--config", path)));
    assert_refused("longer than 1 MiB");
    (void)unlink(path);
    free(text);
}

Test(options, a_url_in_the_wrong_place_is_not_shown)
{
    cr_assert(not(READ(no_environment, "--plugin", "--database", "postgres://u:s3cret@h/d")));
    assert_refused("a database URL, not shown");
    cr_assert(eq(ptr, strstr(error.text, "s3cret"), NULL), "%s", error.text);
    cr_assert(not(READ(no_environment, "-d=postgres://u:s3cret@h/d")));
    assert_refused("not shown");
    cr_assert(eq(ptr, strstr(error.text, "s3cret"), NULL), "%s", error.text);
}

Test(options, error_names_the_line_of_the_config)
{
    char *path = config_file("plugin = a.so\nconcurrency = many\n");
    cr_assert(not(READ(no_environment, "--config", path)));
    assert_refused(":2: concurrency: 'many' is no whole number");
    (void)unlink(path);

    path = config_file("config = other\n");
    cr_assert(not(READ(no_environment, "--config", path)));
    assert_refused(":1: 'config' cannot stand in a configuration file");
    (void)unlink(path);

    path = config_file("just words\n");
    cr_assert(not(READ(no_environment, "--config", path)));
    assert_refused(":1: expected `name = value`");
    (void)unlink(path);
}

Test(options, secret_behind_an_option_given_twice_is_wiped)
{
    char first[] = "--database", second[] = "--database", value[] = "postgres://u:secret@h/d";
    char *argv[] = {"pgflow-host", first, second, value, NULL};

    options_wipe_secrets(4, argv, no_environment);

    cr_assert(eq(ptr, strstr(value, "secret"), NULL));
}

Test(options, secrets_are_wiped_in_place)
{
    char two[] = "--database", value[] = "postgres://u:secret@h/d", one[] = "--database=secret";
    char password[] = "PGPASSWORD=secret", other[] = "PATH=/bin";
    char *argv[] = {"pgflow-host", two, value, one, NULL};
    char *environment[] = {password, other, NULL};

    options_wipe_secrets(4, argv, environment);

    cr_assert(eq(ptr, strstr(value, "secret"), NULL));
    cr_assert(eq(str, one, "--database=xxxxxx"));
    cr_assert(eq(str, password, "PGPASSWORD=xxxxxx"));
    cr_assert(eq(str, other, "PATH=/bin"));
}
