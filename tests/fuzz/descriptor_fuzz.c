/*
 * The descriptor in a module's memory: any numbers, sizes, texts and pointers.
 * What passes the checks is printed as strict JSON, and the registry reads the
 * same flow and steps out of it.
 */
#include "fuzz.h"

#include "base/json_check.h"
#include "registry/registry.h"
#include "runner/descriptor.h"
#include "runner/descriptor_json.h"

#include <pgflow/module.h>
#include <string.h>
#include <sys/mman.h>

enum { STEPS = 6, DEPS = 3 };

struct made {
    pgf_module module;
    pgf_step steps[STEPS];
    pgf_options options[STEPS + 1];
    const char *deps[STEPS][DEPS + 1];
};

static const char *unreadable; /* a page without any right */

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    return PGF_OK;
}

/* Mostly right, so that most inputs get past the first check. */
static uint32_t number(struct fuzz_input *input, uint32_t usual)
{
    uint8_t kind = fuzz_byte(input);
    if (kind < 200)
        return usual;
    return kind < 230 ? fuzz_byte(input) : fuzz_uint32(input);
}

static const char *pointer(struct fuzz_input *input, const char *usual)
{
    uint8_t kind = fuzz_byte(input);
    if (kind < 150)
        return usual;
    if (kind < 246)
        return fuzz_text(input, kind < 200 ? 40 : 6000);
    return kind < 250 ? unreadable : kind < 252 ? (const char *)1 : NULL;
}

static void make_options(pgf_options *options, struct fuzz_input *input)
{
    pgf_int *all[] = {&options->max_attempts, &options->base_delay_s, &options->timeout_s,
                      &options->start_delay_s};
    options->struct_size = number(input, sizeof *options);
    options->reserved = number(input, 0);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]->is_set = number(input, 0);
        all[i]->value = (int32_t)number(input, 7);
    }
}

static void make_step(struct made *made, size_t i, struct fuzz_input *input)
{
    static const char *const slugs[] = {"one", "two", "three", "four", "five", "six"};
    pgf_step *step = &made->steps[i];
    step->struct_size = number(input, sizeof *step);
    step->kind = number(input, fuzz_byte(input) % 8 == 0);
    step->flags = number(input, 0);
    step->reserved = number(input, 0);
    step->slug = pointer(input, slugs[i]);
    for (size_t k = 0; k < DEPS; k++)
        if (fuzz_byte(input) % 3 == 0 && i > 0)
            made->deps[i][k] = pointer(input, slugs[fuzz_below(input, i)]);
    step->deps = fuzz_byte(input) % 4 ? NULL : made->deps[i];
    step->queue = pointer(input, NULL);
    make_options(&made->options[i], input);
    step->options = fuzz_byte(input) % 4 ? NULL : &made->options[i];
    step->required_input = pointer(input, NULL);
    step->forbidden_input = pointer(input, NULL);
    step->when_unmet = pointer(input, NULL);
    step->when_exhausted = pointer(input, NULL);
    step->contract = pointer(input, NULL);
    step->run = fuzz_byte(input) > 250 ? NULL : run;
}

static void make_module(struct made *made, struct fuzz_input *input)
{
    pgf_module *module = &made->module;
    memset(made, 0, sizeof *made);
    module->magic = number(input, PGF_MAGIC);
    module->abi_major = number(input, PGF_ABI_MAJOR);
    module->abi_minor = number(input, PGF_ABI_MINOR);
    module->struct_size = number(input, sizeof *module);
    module->needs_minor = number(input, 0);
    module->flags = number(input, 0);
    module->flow_slug = pointer(input, "fuzz_v1");
    module->alias = pointer(input, NULL);
    module->version = pointer(input, NULL);
    module->queue_mode = number(input, fuzz_byte(input) % 3);
    module->reserved = number(input, 0);
    make_options(&made->options[STEPS], input);
    module->options = fuzz_byte(input) % 2 ? NULL : &made->options[STEPS];
    module->steps = fuzz_byte(input) > 250 ? (const pgf_step *)unreadable : made->steps;
    module->n_steps = number(input, 1 + fuzz_byte(input) % STEPS);
    module->step_size = number(input, sizeof(pgf_step));
    for (size_t i = 0; i < STEPS; i++)
        make_step(made, i, input);
}

/* The same flow on the other side. */
static void check_read(const struct descriptor *descriptor, const char *json)
{
    struct error error = {0};
    struct registry_module module = {"./f.so", json, "aa", ""};
    struct registry *registry = registry_create(&error);
    FUZZ_CHECK(registry != NULL && registry_add(registry, &module, &error));
    const struct deployment *deployment = registry_deployment(registry, 0);
    FUZZ_CHECK(strcmp(deployment->flow, descriptor->flow_slug) == 0);
    FUZZ_CHECK(strcmp(deployment->alias, descriptor->alias) == 0);
    FUZZ_CHECK(deployment->step_count == descriptor->n_steps);
    for (size_t i = 0; i < deployment->step_count; i++) {
        FUZZ_CHECK(strcmp(deployment->steps[i].slug, descriptor->steps[i].slug) == 0);
        FUZZ_CHECK(strcmp(deployment->steps[i].queue, descriptor->steps[i].queue) == 0);
    }
    registry_destroy(registry);
}

static void check_accepted(const struct descriptor *descriptor)
{
    struct error error = {0};
    struct buf json;
    buf_init(&json, LIMIT_DESCRIPTOR_JSON);
    descriptor_put_json(&json, descriptor);
    FUZZ_CHECK(buf_ok(&json) && json_check_text(json.data, json.size, &error));
    FUZZ_CHECK(strlen(json.data) == json.size);
    for (uint32_t i = 0; i < descriptor->n_steps; i++)
        for (uint32_t k = 0; k < descriptor->steps[i].n_deps; k++)
            FUZZ_CHECK(descriptor->steps[i].deps[k] < i);
    check_read(descriptor, json.data);
    buf_free(&json);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(unreadable != MAP_FAILED);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct error error = {0};
    struct made made;
    make_module(&made, &input);
    struct descriptor *descriptor = descriptor_read(&made.module, "f.so", &error);
    if (descriptor)
        check_accepted(descriptor);
    else
        FUZZ_CHECK(error.code == ERROR_CONFIG && strncmp(error.text, "f.so: ", 6) == 0);
    descriptor_free(descriptor);
    fuzz_free_all();
    return 0;
}
