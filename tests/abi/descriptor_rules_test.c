/* Hostile descriptors: options, words, patterns, texts, routes, handlers. */
#include "sample.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INHERIT "change it, or leave it out to inherit"
#define OBJECT "a JSON object of at most 64 KiB"

TestSuite(rules, .timeout = 60);

Test(rules, accepts_options_at_their_borders)
{
    struct sample s;
    sample_init(&s);
    s.step_options = (pgf_options){0, 0, PGF_INT(1), PGF_INT(0), PGF_INT(1), PGF_INT(0)};
    s.flow_options = (pgf_options){0, 0, PGF_INT(1000), PGF_INT(86400), PGF_INT(604800), {0, 5}};

    struct descriptor *d = accepts(&s.module);

    cr_assert_eq(d->options.timeout_s.value, 604800);
    cr_assert_eq(d->options.start_delay_s.is_set, 0);
    cr_assert_eq(d->steps[0].options.base_delay_s.is_set, 1);
    descriptor_free(d);
}

Test(rules, refuses_options_out_of_range)
{
    static const struct {
        pgf_options options;
        const char *text;
    } cases[] = {
        {{.max_attempts = PGF_INT(0)}, "max_attempts (step 'list') is 0; expected 1 to 1000"},
        {{.max_attempts = PGF_INT(1001)}, "max_attempts (step 'list') is 1001; expected 1 to 1000"},
        {{.base_delay_s = PGF_INT(-1)}, "base_delay_s (step 'list') is -1; expected 0 to 86400"},
        {{.base_delay_s = PGF_INT(86401)},
         "base_delay_s (step 'list') is 86401; expected 0 to 86400"},
        {{.timeout_s = PGF_INT(0)}, "timeout_s (step 'list') is 0; expected 1 to 604800"},
        {{.timeout_s = PGF_INT(604801)}, "timeout_s (step 'list') is 604801; expected 1 to 604800"},
        {{.start_delay_s = PGF_INT(-1)},
         "start_delay_s (step 'list') is -1; expected 0 to 31536000"},
        {{.start_delay_s = PGF_INT(31536001)},
         "start_delay_s (step 'list') is 31536001; expected 0 to 31536000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sample s;
        char text[256];
        sample_init(&s);
        s.step_options = cases[i].options;
        snprintf(text, sizeof text, "f.so: steps[0].options.%s; " INHERIT, cases[i].text);

        refuses_as(&s.module, text);
    }
}

Test(rules, refuses_is_set_beyond_one)
{
    struct sample s;
    sample_init(&s);
    s.flow_options.timeout_s.is_set = 60;

    refuses(&s, "options.timeout_s is {is_set 60}; expected is_set 0 or 1; write PGF_INT(n), or "
                "zero it to inherit");
}

Test(rules, refuses_a_start_delay_of_the_flow)
{
    struct sample s;
    sample_init(&s);
    s.flow_options.start_delay_s = (pgf_int)PGF_INT(3);

    refuses(&s, "options.start_delay_s is set for the flow; expected a start delay in steps only; "
                "set it in the options of each step");
}

Test(rules, refuses_unknown_when_words)
{
    struct sample s;
    sample_init(&s);

    s.steps[1].when_exhausted = "retry";
    refuses(&s,
            "steps[1].when_exhausted (step 'scan') is \"retry\"; expected \"fail\", \"skip\" or "
            "\"skip-cascade\"; write one of them, or NULL for the default");
    s.steps[1].when_unmet = "";
    refuses(&s, "steps[1].when_unmet (step 'scan') is \"\"; expected \"fail\", \"skip\" or "
                "\"skip-cascade\"; write one of them, or NULL for the default");
}

Test(rules, refuses_a_pattern_that_is_no_json)
{
    struct sample s;
    sample_init(&s);
    s.steps[1].forbidden_input = "{\"a\": 01}";
    struct error error = {0};

    cr_assert_null(descriptor_read(&s.module, "f.so", &error));
    cr_assert_not_null(
        strstr(error.text, "f.so: steps[1].forbidden_input (step 'scan') is not JSON: "), "%s",
        error.text);
    cr_assert_not_null(strstr(error.text, "; expected " OBJECT "; correct the pattern"));
}

Test(rules, refuses_a_pattern_that_is_no_object)
{
    struct sample s;
    sample_init(&s);
    s.steps[2].required_input = " [1]";

    refuses(&s, "steps[2].required_input (step 'report') is \" [1]\"; expected " OBJECT
                "; a pattern is contained in the input: write the members to look for");
}

Test(rules, accepts_a_pattern_of_64_kib_and_refuses_one_more)
{
    struct sample s;
    sample_init(&s);
    char *pattern = malloc(65536 + 2);
    memset(pattern, ' ', 65537);
    memcpy(pattern, "{", 1);
    pattern[65535] = '}';
    pattern[65536] = '\0';
    s.steps[0].required_input = pattern;

    descriptor_free(accepts(&s.module));
    pattern[65536] = ' ';
    pattern[65537] = '\0';
    refuses(&s,
            "steps[0].required_input (step 'list') is longer than 65536 bytes; expected "
            "NUL-terminated text of at most 65536 bytes; shorten it, or terminate it with a NUL");
    free(pattern);
}

Test(rules, refuses_text_that_is_no_utf8)
{
    struct sample s;
    sample_init(&s);

    s.steps[0].contract = "v\xff";
    refuses(&s,
            "steps[0].contract (step 'list') is \"v\\xff\"; expected UTF-8; save the source file "
            "as UTF-8");
    s.module.version = "1.\xc3";
    refuses(&s, "version is \"1.\\xc3\"; expected UTF-8; save the source file as UTF-8");
}

Test(rules, refuses_a_queue_where_the_mode_gives_it)
{
    struct sample s;
    sample_init(&s);
    s.steps[1].queue = "audit";

    refuses(&s,
            "steps[1].queue (step 'scan') is \"audit\"; expected NULL: in queue mode 'flow' the "
            "queue follows from the slugs; remove it, or set queue_mode to PGF_QUEUE_ROUTED");
}

Test(rules, refuses_a_missing_route)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = PGF_QUEUE_ROUTED;
    s.steps[0].queue = "audit";

    refuses(&s, "steps[1].queue (step 'scan') is NULL; expected a queue in every step: the queue "
                "mode is PGF_QUEUE_ROUTED; name the queue of this step, or choose another mode");
}

Test(rules, refuses_a_route_that_is_no_queue_name)
{
    static const char *const names[] = {"", "a b", "-a", "a-", "a--b", "a;b", "a'b", "a$"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sample s;
        char text[256];
        sample_init(&s);
        s.module.queue_mode = PGF_QUEUE_ROUTED;
        for (int k = 0; k < 3; k++)
            s.steps[k].queue = names[i];
        snprintf(text, sizeof text,
                 "f.so: steps[0].queue (step 'list') is \"%s\"; expected letters, "
                 "digits, '_' and single '-' inside; rename the queue",
                 names[i]);

        refuses_as(&s.module, text);
    }
}

Test(rules, folds_routes_to_lower_case)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = PGF_QUEUE_ROUTED;
    for (int k = 0; k < 3; k++)
        s.steps[k].queue = "Audit-Main_2";

    struct descriptor *d = accepts(&s.module);

    cr_assert_str_eq(d->steps[2].queue, "audit-main_2");
    descriptor_free(d);
}

Test(rules, derives_private_queues_from_the_slugs)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = PGF_QUEUE_STEP;

    struct descriptor *d = accepts(&s.module);

    cr_assert_str_eq(d->steps[1].queue, "audit_v1__scan");
    descriptor_free(d);
}

Test(rules, names_a_private_queue_of_48_bytes_by_the_index_of_its_step)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = PGF_QUEUE_STEP;
    s.steps[0].slug = s.after_list[0] = s.after_both[0] = "a23456789b123456789c123456789d1234567";
    descriptor_free(accepts(&s.module));
    s.steps[0].slug = s.after_list[0] = s.after_both[0] = "a23456789b123456789c123456789d12345678";

    struct descriptor *descriptor = accepts(&s.module);
    cr_assert_str_eq(descriptor->steps[0].queue, "audit_v1__0");
    descriptor_free(descriptor);
}

Test(rules, refuses_a_derived_queue_name_of_48_bytes)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = PGF_QUEUE_STEP;
    s.module.flow_slug = "a23456789b123456789c123456789d123456789e123456";

    refuses(&s,
            "steps[0].queue (step 'list') is "
            "\"a23456789b123456789c123456789d123456789e123456__0\" (49 bytes); expected a queue "
            "name of at most 47 bytes; shorten the slugs that it is made of, or route the steps");
}

Test(rules, refuses_a_missing_handler)
{
    struct sample s;
    sample_init(&s);
    s.steps[2].run = NULL;

    refuses(&s, "steps[2].run (step 'report') is NULL; expected a handler; set the function that "
                "runs the step");
}

#define CODE_FIX                                                                                   \
    "where no code is; expected the address of a function of the module; set it to a function, "   \
    "and take no address that is known only at run time"

Test(rules, refuses_handlers_that_point_to_no_code)
{
    struct sample s;
    uintptr_t address = 16;
    sample_init(&s);
    memcpy(&s.steps[1].run, &address, sizeof address);

    refuses(&s, "steps[1].run (step 'scan') is 0x10, " CODE_FIX);
}

Test(rules, refuses_handlers_that_point_to_data)
{
    static int data;
    char text[512];
    struct sample s;
    uintptr_t address = (uintptr_t)&data;
    sample_init(&s);
    memcpy(&s.steps[0].run, &address, sizeof address);

    snprintf(text, sizeof text, "f.so: steps[0].run (step 'list') is 0x%llx, " CODE_FIX,
             (unsigned long long)address);
    refuses_as(&s.module, text);
}

Test(rules, refuses_an_init_that_points_to_no_code)
{
    struct sample s;
    uintptr_t address = 16;
    sample_init(&s);
    memcpy(&s.module.init, &address, sizeof address);

    refuses(&s, "init is 0x10, " CODE_FIX);
}
