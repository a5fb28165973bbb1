/* Hostile descriptors: slugs, alias, dependencies. */
#include "sample.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLUG_RULE                                                                                  \
    "1 to 128 letters, digits and single inner '_', not beginning with a digit, and not 'run'"

TestSuite(names, .timeout = 60);

Test(names, refuses_a_null_flow_slug)
{
    struct sample s;
    sample_init(&s);
    s.module.flow_slug = NULL;

    refuses(&s, "flow_slug is NULL; expected a pointer; set it");
}

Test(names, refuses_a_null_step_slug)
{
    struct sample s;
    sample_init(&s);
    s.steps[1].slug = NULL;

    refuses(&s, "steps[1].slug is NULL; expected a pointer; set it");
}

Test(names, refuses_text_without_end_before_an_unmapped_page)
{
    struct sample s;
    sample_init(&s);
    s.steps[1].slug = at_page_end("scan", 4);

    refuses(&s, "steps[1].slug is 4 bytes without a NUL up to memory that cannot be read; expected "
                "NUL-terminated text of at most 4096 bytes; terminate it with a NUL");
}

Test(names, accepts_text_that_ends_with_its_page)
{
    struct sample s;
    sample_init(&s);
    s.steps[1].slug = at_page_end("scan", 5);

    struct descriptor *d = accepts(&s.module);

    cr_assert_str_eq(d->steps[1].slug, "scan");
    descriptor_free(d);
}

Test(names, refuses_text_without_end_in_readable_memory)
{
    struct sample s;
    sample_init(&s);
    char *endless = malloc(1 << 20);
    memset(endless, 'a', 1 << 20);
    s.module.flow_slug = endless;

    refuses(&s, "flow_slug is longer than 4096 bytes; expected NUL-terminated text of at most 4096 "
                "bytes; shorten it, or terminate it with a NUL");
    free(endless);
}

Test(names, refuses_what_is_no_slug)
{
    static const char *const slugs[][2] = {
        {"", "\"\""},
        {"1st", "\"1st\""},
        {"a-b", "\"a-b\""},
        {"_a", "\"_a\""},
        {"a_", "\"a_\""},
        {"a__b", "\"a__b\""},
        {"run", "\"run\""},
        {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
        {"a\n\xff\"", "\"a\\x0a\\xff\\x22\""},
    };
    for (size_t i = 0; i < sizeof slugs / sizeof slugs[0]; i++) {
        struct sample s;
        char text[512];
        sample_init(&s);
        s.steps[2].slug = slugs[i][0];
        snprintf(text, sizeof text, "f.so: steps[2].slug is %s; expected " SLUG_RULE "; rename it",
                 slugs[i][1]);

        refuses_as(&s.module, text);
    }
}

Test(names, shows_only_the_beginning_of_a_long_slug)
{
    struct sample s;
    char slug[130] = {0};
    char text[512];
    sample_init(&s);
    memset(slug, 'a', 129);
    s.module.flow_slug = slug;
    snprintf(text, sizeof text,
             "f.so: flow_slug is \"%.80s\"...; expected " SLUG_RULE "; rename it", slug);

    refuses_as(&s.module, text);
}

Test(names, refuses_an_alias_that_is_no_slug)
{
    struct sample s;
    sample_init(&s);
    s.module.alias = "my flow";

    refuses(&s, "alias is \"my flow\"; expected " SLUG_RULE "; rename it");
}

Test(names, refuses_slugs_that_differ_by_case_only)
{
    struct sample s;
    sample_init(&s);
    s.steps[2].slug = "LIST";

    refuses(&s, "steps[2].slug (step 'LIST') is that of steps[0] ('list') too; expected slugs that "
                "differ, whatever their case; rename one of them");
}

Test(names, refuses_a_dependency_on_itself)
{
    struct sample s;
    sample_init(&s);
    s.after_list[0] = "scan";

    refuses(&s, "steps[1].deps[0] (step 'scan') is \"scan\"; expected the slug of an earlier step, "
                "not its own; remove it");
}

Test(names, refuses_a_cycle)
{
    struct sample s;
    sample_init(&s);
    s.steps[0].deps = s.after_both;
    s.after_both[0] = "report";

    refuses(&s,
            "steps[0].deps[0] (step 'list') is \"report\"; expected the slug of an earlier step; "
            "this one comes later; move it before the steps that depend on it, and break any "
            "cycle");
}

Test(names, refuses_an_unknown_dependency_and_offers_the_nearest)
{
    struct sample s;
    sample_init(&s);
    s.after_both[1] = "scann";

    refuses(&s, "steps[2].deps[1] (step 'report') is \"scann\"; expected the slug of an earlier "
                "step; there is none of that name; did you mean 'scan'?");
}

Test(names, refuses_a_dependency_in_another_case)
{
    struct sample s;
    sample_init(&s);
    s.after_list[0] = "LIST";

    refuses(&s, "steps[1].deps[0] (step 'scan') is \"LIST\"; expected the slug of an earlier step; "
                "there is none of that name; did you mean 'list'?");
}

Test(names, refuses_a_dependency_named_twice)
{
    struct sample s;
    sample_init(&s);
    s.after_both[1] = "list";

    refuses(&s, "steps[2].deps[1] (step 'report') is \"list\" a second time; expected each "
                "dependency once; remove one of them");
}

Test(names, refuses_a_list_of_dependencies_without_end)
{
    struct sample s;
    struct error error = {0};
    sample_init(&s);
    s.steps[2].deps = at_page_end(s.after_both, 2 * sizeof(char *));

    cr_assert_null(descriptor_read(&s.module, "f.so", &error));
    cr_assert_not_null(strstr(error.text, "f.so: steps[2].deps[2] (step 'report') is at 0x"), "%s",
                       error.text);
}

Test(names, refuses_a_map_with_two_dependencies)
{
    struct sample s;
    sample_init(&s);
    s.steps[2].kind = PGF_STEP_MAP;

    refuses(&s, "steps[2].deps (step 'report') is 2 names; expected at most one in a map step; put "
                "a single step between that builds the array");
}

Test(names, refuses_a_root_map_that_wants_the_flow_input)
{
    struct sample s;
    sample_init(&s);
    s.steps[0].kind = PGF_STEP_MAP;
    s.steps[0].flags = PGF_WANTS_FLOW_INPUT;

    refuses(&s, "steps[0].flags (step 'list') is PGF_WANTS_FLOW_INPUT; expected no such flag in a "
                "map without dependency, whose elements are the run's input; remove the flag");
}

Test(names, accepts_a_thousand_steps_and_a_last_that_waits_for_all)
{
    enum { N = LIMIT_STEPS };
    static char slugs[N][8];
    static const char *all[N + 1];
    static pgf_step steps[N];
    struct sample s;
    sample_init(&s);
    for (int i = 0; i < N; i++) {
        snprintf(slugs[i], sizeof slugs[i], "s%d", i);
        steps[i] = (pgf_step){.slug = slugs[i], .run = s.steps[0].run};
        all[i] = i < N - 1 ? slugs[i] : NULL;
    }
    steps[N - 1].deps = all;
    s.module.steps = steps;
    s.module.n_steps = N;

    struct descriptor *d = accepts(&s.module);

    cr_assert_eq(d->steps[N - 1].n_deps, N - 1);
    cr_assert_eq(d->steps[N - 1].deps[500], 500);
    descriptor_free(d);
}
