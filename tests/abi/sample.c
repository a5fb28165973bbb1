#include "sample.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    return PGF_OK;
}

void sample_init(struct sample *sample)
{
    *sample = (struct sample){
        .flow_options = {sizeof(pgf_options), 0, PGF_INT(5), PGF_INT(2), PGF_INT(30), {0, 0}},
        .step_options = {.start_delay_s = PGF_INT(7)},
        .after_list = {"list"},
        .after_both = {"list", "scan"},
    };
    sample->steps[0] = (pgf_step){.slug = "list", .run = run, .options = &sample->step_options};
    sample->steps[1] =
        (pgf_step){.slug = "scan", .kind = PGF_STEP_MAP, .deps = sample->after_list, .run = run};
    sample->steps[2] = (pgf_step){.struct_size = sizeof(pgf_step),
                                  .slug = "report",
                                  .deps = sample->after_both,
                                  .flags = PGF_WANTS_FLOW_INPUT,
                                  .required_input = "{\"kind\": [1]}",
                                  .when_unmet = "skip-cascade",
                                  .contract = "report/\"1\"",
                                  .run = run};
    sample->module =
        (pgf_module){PGF_MODULE_HEADER, .flow_slug = "Audit_v1",          .alias = "audit",
                     .version = "1.2",  .options = &sample->flow_options, .steps = sample->steps,
                     .n_steps = 3,      .step_size = sizeof(pgf_step)};
}

void refuses_as(const void *symbol, const char *text)
{
    struct error error = {0};

    struct descriptor *descriptor = descriptor_read(symbol, "f.so", &error);

    cr_assert_null(descriptor);
    cr_assert_str_eq(error.text, text);
    cr_assert_eq(error.code, ERROR_CONFIG);
}

struct descriptor *accepts(const void *symbol)
{
    struct error error = {0};
    struct descriptor *descriptor = descriptor_read(symbol, "f.so", &error);
    cr_assert_not_null(descriptor, "%s", error.text);
    return descriptor;
}

const void *at_page_end(const void *bytes, size_t size)
{
    size_t pages = (size + 4095) / 4096 * 4096;
    char *memory =
        mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + pages, 4096, PROT_NONE), 0);
    return memcpy(memory + pages - size, bytes, size);
}
