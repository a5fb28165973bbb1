/* Hostile descriptors: magic, versions, sizes, counts, words, reserved. */
#include "sample.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_FIX "begin the descriptor with PGF_MODULE_HEADER"
#define ZERO_FIX "zero the struct before you fill it, and rebuild with this ABI's header"

TestSuite(numbers, .timeout = 60);

Test(numbers, accepts_a_module_that_fills_only_what_it_needs)
{
    struct sample s;
    sample_init(&s);
    s.steps[0] = (pgf_step){.slug = "only", .run = s.steps[0].run};
    s.module = (pgf_module){PGF_MODULE_HEADER, .flow_slug = "f", .steps = PGF_ARRAY(s.steps)};
    s.module.n_steps = 1;

    struct descriptor *d = accepts(&s.module);

    cr_assert_str_eq(d->alias, "f");
    cr_assert_null(d->version);
    cr_assert_str_eq(d->steps[0].queue, "f");
    cr_assert_str_eq(d->steps[0].when_unmet, "skip");
    cr_assert_str_eq(d->steps[0].when_exhausted, "fail");
    cr_assert_eq(d->steps[0].options.max_attempts.is_set, 0);
    descriptor_free(d);
}

Test(numbers, refuses_a_symbol_that_cannot_be_read)
{
    refuses_as((const void *)64,
               "f.so: pgflow_module_v1 is at 0x40, which cannot be read; expected a "
               "pointer into the module's own data; rebuild the module from "
               "sources that initialise it");
}

Test(numbers, refuses_a_symbol_whose_end_cannot_be_read)
{
    struct sample s;
    sample_init(&s);
    const void *cut = at_page_end(&s.module, 40);

    struct error error = {0};

    cr_assert_null(descriptor_read(cut, NULL, &error));
    cr_assert_not_null(strstr(error.text, "pgflow_module_v1 is at 0x"), "%s", error.text);
}

Test(numbers, refuses_bad_magic)
{
    struct sample s;
    sample_init(&s);
    s.module.magic = 0x21212121;
    s.module.abi_major = 9;

    refuses(&s, "magic is 0x21212121; expected 0x4d464750 (PGF_MAGIC); " HEADER_FIX
                "; pgflow_module_v1 must be a pgf_module, no pointer to one");
}

Test(numbers, refuses_another_major_version_and_shows_both)
{
    struct sample s;
    sample_init(&s);
    s.module.abi_major = 2;
    s.module.abi_minor = 3;
    s.module.struct_size = 4;

    refuses(&s,
            "abi_major is 2 (ABI 2.3); expected 1: this host offers ABI 1.1; rebuild the module "
            "with the SDK of ABI 1, or run a host of its ABI");
}

Test(numbers, refuses_struct_sizes_that_are_zero_odd_small_or_huge)
{
    static const struct {
        uint32_t size;
        const char *text;
    } cases[] = {
        {0, "f.so: struct_size is 0; expected a multiple of 8 between 104 and 4096; " HEADER_FIX},
        {96, "f.so: struct_size is 96; expected a multiple of 8 between 104 and 4096; " HEADER_FIX},
        {105,
         "f.so: struct_size is 105; expected a multiple of 8 between 104 and 4096; " HEADER_FIX},
        {4294967288u, "f.so: struct_size is 4294967288; expected a multiple of 8 between 104 and "
                      "4096; " HEADER_FIX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sample s;
        sample_init(&s);
        s.module.struct_size = cases[i].size;
        s.module.needs_minor = 9;

        refuses_as(&s.module, cases[i].text);
    }
}

Test(numbers, refuses_a_module_that_needs_a_newer_host)
{
    struct sample s;
    sample_init(&s);
    s.module.needs_minor = 3;
    s.module.step_size = 0;

    refuses(&s, "needs_minor is 3; expected at most 1: this host offers ABI 1.1; run a host of ABI "
                "1.3 or later, or rebuild without what needs it");
}

Test(numbers, accepts_a_newer_sdk_whose_structs_are_longer)
{
    struct long_step {
        pgf_step step;
        uint64_t news[2];
    } steps[3];
    struct {
        pgf_module module;
        uint64_t news[4];
    } module;
    struct sample s;
    sample_init(&s);
    memset(steps, 0xff, sizeof steps);
    memset(&module, 0xff, sizeof module);
    for (int i = 0; i < 3; i++)
        steps[i].step = s.steps[i];
    module.module = s.module;
    module.module.abi_minor = 7;
    module.module.struct_size = sizeof module;
    module.module.steps = &steps[0].step;
    module.module.step_size = sizeof steps[0];

    struct descriptor *d = accepts(&module);

    cr_assert_str_eq(d->steps[2].slug, "report");
    cr_assert_eq(d->abi_minor, 7);
    descriptor_free(d);
}

Test(numbers, refuses_step_sizes_that_are_zero_odd_small_or_huge)
{
    static const char *const sizes[] = {"0", "88", "97", "2147483648"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sample s;
        char text[256];
        sample_init(&s);
        s.module.step_size = (uint32_t)strtoul(sizes[i], NULL, 10);
        s.module.n_steps = 0;
        snprintf(text, sizeof text,
                 "f.so: step_size is %s; expected a multiple of 8 between 96 and 4096; fill steps, "
                 "n_steps and step_size by PGF_ARRAY",
                 sizes[i]);

        refuses_as(&s.module, text);
    }
}

Test(numbers, refuses_no_steps)
{
    struct sample s;
    sample_init(&s);
    s.module.n_steps = 0;

    refuses(&s, "n_steps is 0; expected 1 to 1000 steps; give the flow a step");
}

Test(numbers, refuses_two_billion_steps)
{
    struct sample s;
    sample_init(&s);
    s.module.n_steps = 1u << 31;

    refuses(&s,
            "n_steps is 2147483648; expected 1 to 1000 steps; split the flow, or use a map step");
}

Test(numbers, refuses_a_count_that_runs_out_of_the_array)
{
    struct sample s;
    struct error error = {0};
    sample_init(&s);
    s.module.steps = at_page_end(s.steps, sizeof s.steps);
    s.module.n_steps = 4;

    cr_assert_null(descriptor_read(&s.module, "f.so", &error));
    cr_assert_not_null(strstr(error.text, "f.so: steps[3].struct_size is at 0x"), "%s", error.text);
}

Test(numbers, refuses_steps_that_are_null)
{
    struct sample s;
    sample_init(&s);
    s.module.steps = NULL;

    refuses(&s, "steps is NULL; expected a pointer; set it");
}

Test(numbers, refuses_steps_at_the_end_of_the_address_space)
{
    struct sample s;
    sample_init(&s);
    s.module.steps = (const pgf_step *)(UINTPTR_MAX - 7);

    refuses(&s, "steps is at 0xfffffffffffffff8, which cannot be read; expected a pointer into the "
                "module's own data; rebuild the module from sources that initialise it");
}

Test(numbers, refuses_a_step_larger_than_the_stride)
{
    struct sample s;
    sample_init(&s);
    s.steps[1].struct_size = sizeof(pgf_step) + 8;

    refuses(&s, "steps[1].struct_size is 104; expected a multiple of 8 between 96 and 96; write "
                "sizeof(pgf_step) or 0 (the module's step_size)");
}

Test(numbers, refuses_options_of_an_impossible_size)
{
    struct sample s;
    sample_init(&s);
    s.step_options.struct_size = 32;

    refuses(&s, "steps[0].options.struct_size is 32; expected a multiple of 8 between 40 and 4096; "
                "write sizeof(pgf_options) or 0 into struct_size");
}

Test(numbers, refuses_options_that_cannot_be_read)
{
    struct sample s;
    sample_init(&s);
    s.module.options = (const pgf_options *)8;

    refuses(&s, "options.struct_size is at 0x8, which cannot be read; expected a pointer into the "
                "module's own data; rebuild the module from sources that initialise it");
}

Test(numbers, refuses_unknown_module_flags)
{
    struct sample s;
    sample_init(&s);
    s.module.flags = 2;

    refuses(&s, "flags is 0x2; expected 0 or 1 (PGF_MAY_GROW); " ZERO_FIX);
}

Test(numbers, accepts_a_module_that_may_grow_and_needs_1_1)
{
    struct sample s;
    struct error error = {0};
    struct descriptor *descriptor;
    sample_init(&s);
    s.module.flags = PGF_MAY_GROW;
    s.module.needs_minor = 1;

    descriptor = descriptor_read(&s.module, "f.so", &error);

    cr_assert_not_null(descriptor, "%s", error.text);
    cr_assert_eq(descriptor->flags, PGF_MAY_GROW);
    descriptor_free(descriptor);
}

/* A host of 1.0 would refuse it by its flags, and advise what does not help. */
Test(numbers, refuses_a_flag_that_older_hosts_do_not_know_without_its_minor_version)
{
    struct sample s;
    sample_init(&s);
    s.module.flags = PGF_MAY_GROW;

    refuses(&s, "needs_minor is 0; expected at least 1 with flags set; set .needs_minor = 1");
}

Test(numbers, refuses_an_unknown_queue_mode)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = 3;

    refuses(&s, "queue_mode is 3; expected 0 (PGF_QUEUE_FLOW), 1 (PGF_QUEUE_STEP) or 2 "
                "(PGF_QUEUE_ROUTED); " ZERO_FIX);
}

Test(numbers, refuses_an_unknown_step_kind)
{
    struct sample s;
    sample_init(&s);
    s.steps[2].kind = 2;

    refuses(&s, "steps[2].kind is 2; expected 0 (PGF_STEP_SINGLE) or 1 (PGF_STEP_MAP); " ZERO_FIX);
}

Test(numbers, refuses_unknown_step_flags)
{
    struct sample s;
    sample_init(&s);
    s.steps[2].flags = 5;

    refuses(&s, "steps[2].flags is 0x5; expected 0 or 1 (PGF_WANTS_FLOW_INPUT); " ZERO_FIX);
}

Test(numbers, refuses_reserved_words_that_are_not_zero)
{
    struct sample s;
    sample_init(&s);
    s.steps[0].slug = NULL;

    s.step_options.reserved = 1;
    refuses(&s, "steps[0].options.reserved is 0x1; expected 0: it is reserved; " ZERO_FIX);
    s.steps[0].reserved = 1;
    refuses(&s, "steps[0].reserved is 0x1; expected 0: it is reserved; " ZERO_FIX);
    s.flow_options.reserved = 16;
    refuses(&s, "options.reserved is 0x10; expected 0: it is reserved; " ZERO_FIX);
    s.module.reserved = 1;
    refuses(&s, "reserved is 0x1; expected 0: it is reserved; " ZERO_FIX);
}
