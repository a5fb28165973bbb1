#include "base/buf.h"
#include "registry/registry.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static struct registry *registry;
static struct error error;

static void setup(void)
{
    error_clear(&error);
    registry = registry_create(&error);
}

static void teardown(void)
{
    registry_destroy(registry);
}

TestSuite(registry, .init = setup, .fini = teardown);

#define STEP(slug, queue) "{\"slug\":\"" slug "\",\"queue\":\"" queue "\"}"
#define AFTER(slug, queue, dependencies)                                                           \
    "{\"slug\":\"" slug "\",\"queue\":\"" queue "\",\"dependencies\":" dependencies "}"
#define FLOW(slug, alias, mode, steps)                                                             \
    "{\"flowSlug\":\"" slug "\",\"alias\":\"" alias "\",\"queueMode\":\"" mode                     \
    "\",\"version\":\"1.0\",\"steps\":[" steps "]}"

static const char plain[] = FLOW("hello", "hello", "flow", STEP("greet", "hello"));
static const char triage_v1[] =
    FLOW("triage_v1", "triage", "routed",
         STEP("classify", "classify_threads") "," STEP("deliver", "slack_alerts"));
static const char triage_v2[] =
    FLOW("triage_v2", "triage", "routed",
         STEP("classify", "classify_threads") "," STEP("enrich", "classify_threads"));

static bool add(const char *file, const char *descriptor)
{
    return registry_add(
        registry,
        &(struct registry_module){
            .file = file, .descriptor = descriptor, .sha256 = "abc", .build_id = "def"},
        &error);
}

static void assert_refused(int code, const char *text)
{
    cr_assert(eq(int, error.code, code));
    cr_assert(ne(ptr, strstr(error.text, text), NULL), "expected '%s' in '%s'", text, error.text);
}

Test(registry, infers_the_queue_of_one_plain_flow)
{
    cr_assert(add("./hello.so", plain));

    cr_assert(registry_bind_queue(registry, NULL, &error), "%s", error.text);

    cr_assert(eq(str, (char *)registry_queue(registry), "hello"));
    cr_assert(eq(sz, registry_pair_count(registry), 1));
    cr_assert(eq(ptr, (void *)registry_pair(registry, 0),
                 (void *)registry_find(registry, "hello", "greet")));
}

Test(registry, wants_a_queue_for_a_routed_flow)
{
    cr_assert(add("./v1.so", triage_v1));

    cr_assert(not(registry_bind_queue(registry, NULL, &error)));

    assert_refused(ERROR_USAGE, "--queue is missing");
    assert_refused(ERROR_USAGE, "classify_threads, slack_alerts");
}

Test(registry, wants_a_queue_for_several_modules)
{
    cr_assert(add("./hello.so", plain));
    cr_assert(add("./again.so", FLOW("again", "again", "flow", STEP("a", "again"))));

    cr_assert(not(registry_bind_queue(registry, NULL, &error)));

    assert_refused(ERROR_USAGE, "several modules");
}

Test(registry, finds_exact_pairs_of_the_queue_only)
{
    cr_assert(add("./v1.so", triage_v1));
    cr_assert(add("./v2.so", triage_v2));

    cr_assert(registry_bind_queue(registry, "classify_threads", &error), "%s", error.text);

    const struct deployment_step *step = registry_find(registry, "triage_v2", "enrich");
    cr_assert(eq(u32, step->index, 1));
    cr_assert(eq(str, (char *)step->deployment->file, "./v2.so"));
    cr_assert(ne(ptr, (void *)registry_find(registry, "triage_v1", "classify"), NULL));
    cr_assert(eq(ptr, (void *)registry_find(registry, "triage_v1", "deliver"), NULL));
    cr_assert(eq(ptr, (void *)registry_find(registry, "triage_v1", "enrich"), NULL));
    cr_assert(eq(ptr, (void *)registry_find(registry, "triage", "classify"), NULL));
    cr_assert(eq(sz, registry_pair_count(registry), 3));
    cr_assert(eq(sz, registry_deployment(registry, 0)->served_count, 1));
}

Test(registry, queue_is_one_in_any_spelling)
{
    cr_assert(add("./v1.so", FLOW("f", "f", "routed", STEP("a", "Classify_Threads"))));

    cr_assert(registry_bind_queue(registry, "CLASSIFY_threads", &error), "%s", error.text);

    cr_assert(eq(str, (char *)registry_queue(registry), "classify_threads"));
    cr_assert(eq(sz, registry_pair_count(registry), 1));
}

Test(registry, refuses_duplicate_slug_and_names_both_files)
{
    cr_assert(add("./a.so", plain));

    cr_assert(not(add("./b.so", plain)));

    assert_refused(ERROR_CONFIG, "./a.so and ./b.so are both flow 'hello'");
    cr_assert(eq(sz, registry_count(registry), 1));
}

Test(registry, refuses_slugs_that_differ_by_case_only)
{
    cr_assert(add("./a.so", plain));

    cr_assert(not(add("./b.so", FLOW("Hello", "Hello", "flow", STEP("greet", "hello")))));

    assert_refused(ERROR_CONFIG, "both flow");
}

Test(registry, unknown_queue_offers_the_nearest_and_lists_the_literals)
{
    cr_assert(add("./v1.so", triage_v1));

    cr_assert(not(registry_bind_queue(registry, "clasify_threads", &error)));

    assert_refused(ERROR_USAGE, "did you mean classify_threads?");
    assert_refused(ERROR_USAGE, "Declared queues: classify_threads, slack_alerts");
    assert_refused(ERROR_USAGE, "triage_v1 (./v1.so): classify -> classify_threads, deliver -> "
                                "slack_alerts");
}

Test(registry, queue_like_no_declared_one_is_told_of_the_literals)
{
    cr_assert(add("./v1.so", triage_v1));

    cr_assert(not(registry_bind_queue(registry, "zz", &error)));

    assert_refused(ERROR_USAGE,
                   "no given module has a step on it; declared queues: classify_threads, "
                   "slack_alerts");
}

/* A routed flow of many steps, each on a queue of its own; the names end in 10, 11 and so on. */
static void add_wide(const char *step, const char *queue, int steps)
{
    struct buf text;

    buf_init(&text, LIMIT_MIB);
    buf_puts(&text,
             "{\"flowSlug\":\"wide\",\"alias\":\"wide\",\"queueMode\":\"routed\",\"steps\":[");
    for (int i = 10; i < 10 + steps; i++)
        buf_printf(&text, "%s{\"slug\":\"%s%d\",\"queue\":\"%s%d\"}", i == 10 ? "" : ",", step, i,
                   queue, i);
    buf_puts(&text, "]}");
    cr_assert(add("./wide.so", text.data), "%s", error.text);
    buf_free(&text);
}

Test(registry, error_shows_twenty_queues_and_steps_and_says_that_there_are_more)
{
    add_wide("s", "q", 25);

    cr_assert(not(registry_bind_queue(registry, "zzzzzz", &error)));

    assert_refused(ERROR_USAGE, "q28, q29, ...\n");
    assert_refused(ERROR_USAGE, "s29 -> q29, and 5 more steps");
    cr_assert(eq(ptr, strstr(error.text, "q30"), NULL), "%s", error.text);
}

Test(registry, error_that_names_more_than_fits_says_that_it_was_cut)
{
    char step[126] = "", queue[45] = "";
    add_wide(memset(step, 's', sizeof step - 1), memset(queue, 'q', sizeof queue - 1), 25);

    cr_assert(not(registry_bind_queue(registry, "zzzzzz", &error)));

    cr_assert(eq(str, strrchr(error.text, ' '), " ..."), "%s", error.text);
}

Test(registry, refuses_module_without_a_step_on_the_queue)
{
    cr_assert(add("./v1.so", triage_v1));
    cr_assert(add("./hello.so", plain));

    cr_assert(not(registry_bind_queue(registry, "classify_threads", &error)));

    assert_refused(ERROR_CONFIG, "./hello.so: flow hello has no step on queue classify_threads");
    assert_refused(ERROR_CONFIG, "its queues: hello");
}

Test(registry, refuses_what_is_no_queue_name)
{
    cr_assert(add("./hello.so", plain));

    cr_assert(not(registry_bind_queue(registry, "hello; drop table", &error)));

    assert_refused(ERROR_USAGE, "is no queue name: letters, digits, _ and single hyphens");
}

Test(registry, last_given_module_of_each_alias_is_marked)
{
    cr_assert(add("./v1.so", triage_v1));
    cr_assert(add("./v2.so", triage_v2));
    cr_assert(add("./hello.so", plain));

    cr_assert(not(registry_deployment(registry, 0)->last_of_alias));
    cr_assert(registry_deployment(registry, 1)->last_of_alias);
    cr_assert(registry_deployment(registry, 2)->last_of_alias);
}

Test(registry, plain_flow_is_its_own_alias)
{
    cr_assert(add("./a.so", "{\"flowSlug\":\"solo\",\"queueMode\":\"flow\",\"steps\":[" STEP(
                                "s", "solo") "]}"));

    cr_assert(eq(str, (char *)registry_deployment(registry, 0)->alias, "solo"));
    cr_assert(eq(str, (char *)registry_deployment(registry, 0)->version, ""));
}

Test(registry, document_goes_to_the_database_unchanged)
{
    cr_assert(add("./hello.so", plain));

    cr_assert(eq(str, (char *)registry_deployment(registry, 0)->document, (char *)plain));
}

Test(registry, refuses_descriptors_that_are_not_what_the_runner_prints)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        FLOW("a b", "x", "flow", STEP("s", "q")),
        FLOW("f", "__f", "flow", STEP("s", "q")),
        FLOW("f", "f", "shared", STEP("s", "q")),
        FLOW("f", "f", "flow", ""),
        FLOW("f", "f", "flow", "{\"slug\":1,\"queue\":\"q\"}"),
        FLOW("f", "f", "flow", STEP("s", "q;q")),
        FLOW("f", "f", "flow", AFTER("s", "q", "[1]")),
        FLOW("f", "f", "flow", AFTER("s", "q", "{\"a\":1}")),
        FLOW("f", "f", "flow", AFTER("s", "q", "[\"later\"]") "," STEP("later", "q")),
        FLOW("f", "f", "flow", STEP("s", "q")) "x",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert(not(add("./x.so", wrong[i])), "%s", wrong[i]);
        assert_refused(ERROR_CONFIG, "./x.so: its descriptor");
    }
    cr_assert(eq(sz, registry_count(registry), 0));
}

Test(registry, refuses_a_flow_that_names_a_step_twice)
{
    cr_assert(not(add("./a.so", FLOW("hello", "hello", "flow",
                                     STEP("greet", "hello") "," STEP("Greet", "hello")))));

    assert_refused(ERROR_CONFIG, "has no valid list of steps");
}

Test(registry, finds_every_pair_among_thousands)
{
    char descriptor[64 * 1024], file[32];

    for (int flow = 0; flow < 20; flow++) {
        int used = snprintf(descriptor, sizeof descriptor,
                            "{\"flowSlug\":\"flow%d\",\"queueMode\":\"routed\",\"steps\":[", flow);
        for (int step = 0; step < 200; step++)
            used += snprintf(descriptor + used, sizeof descriptor - (size_t)used,
                             "%s{\"slug\":\"step%d\",\"queue\":\"q\"}", step == 0 ? "" : ",", step);
        snprintf(descriptor + used, sizeof descriptor - (size_t)used, "]}");
        snprintf(file, sizeof file, "./flow%d.so", flow);
        cr_assert(add(file, descriptor), "%s", error.text);
    }
    cr_assert(registry_bind_queue(registry, "q", &error), "%s", error.text);

    cr_assert(eq(sz, registry_pair_count(registry), 4000));
    for (size_t i = 0; i < 4000; i++) {
        const struct deployment_step *pair = registry_pair(registry, i);
        cr_assert(eq(ptr, (void *)registry_find(registry, pair->deployment->flow, pair->slug),
                     (void *)pair));
    }
}
