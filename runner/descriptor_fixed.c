/* Checks on the numbers of a descriptor, and the copies of its fixed-size parts. The
 * sizes come first: everything after them trusts sizes, strides and counts. */
#include "runner/descriptor_reading.h"

#include <stdio.h>
#include <stdlib.h>

static const char zero_initialise[] =
    "zero the struct before you fill it, and rebuild with this ABI's header";

bool check_magic(struct reading *reading)
{
    if (!reading_copy(reading, "pgflow_module_v1", reading->symbol, &reading->module.magic,
                      sizeof reading->module.magic))
        return false;
    if (reading->module.magic == PGF_MAGIC)
        return true;
    return reading_refuse(reading, "magic",
                          found_format(reading, "0x%08x", (unsigned)reading->module.magic),
                          "0x4d464750 (PGF_MAGIC)",
                          "begin the descriptor with PGF_MODULE_HEADER; pgflow_module_v1 must be a "
                          "pgf_module, no pointer to one");
}

/* The first six words are the same in every version of ABI 1. */
bool check_major(struct reading *reading)
{
    size_t words = offsetof(pgf_module, flow_slug);
    char expected[64];
    if (!reading_copy(reading, "pgflow_module_v1", reading->symbol, &reading->module, words))
        return false;
    if (reading->module.abi_major == PGF_ABI_MAJOR)
        return true;
    snprintf(expected, sizeof expected, "%u: this host offers ABI %u.%u", (unsigned)PGF_ABI_MAJOR,
             (unsigned)PGF_ABI_MAJOR, (unsigned)PGF_ABI_MINOR);
    return reading_refuse(
        reading, "abi_major",
        found_format(reading, "%u (ABI %u.%u)", (unsigned)reading->module.abi_major,
                     (unsigned)reading->module.abi_major, (unsigned)reading->module.abi_minor),
        expected, "rebuild the module with the SDK of ABI 1, or run a host of its ABI");
}

/* One rule for all sizes that a module states. */
static bool check_size(struct reading *reading, const char *field, uint32_t size, size_t least,
                       size_t most, const char *fix)
{
    char expected[96];
    if (size % 8 == 0 && size >= least && size <= most)
        return true;
    snprintf(expected, sizeof expected, "a multiple of 8 between %zu and %zu", least, most);
    return reading_refuse(reading, field, found_format(reading, "%u", (unsigned)size), expected,
                          fix);
}

bool check_struct_size(struct reading *reading)
{
    uint32_t size = reading->module.struct_size;
    if (!check_size(reading, "struct_size", size, MODULE_SIZE_1_0, LIMIT_DESCRIPTOR_STRUCT,
                    "begin the descriptor with PGF_MODULE_HEADER"))
        return false;
    return reading_copy(reading, "pgflow_module_v1", reading->symbol, &reading->module,
                        size < sizeof reading->module ? size : sizeof reading->module);
}

bool check_needs_minor(struct reading *reading)
{
    char expected[64];
    char fix[96];
    if (reading->module.needs_minor <= PGF_ABI_MINOR)
        return true;
    snprintf(expected, sizeof expected, "at most %u: this host offers ABI %u.%u",
             (unsigned)PGF_ABI_MINOR, (unsigned)PGF_ABI_MAJOR, (unsigned)PGF_ABI_MINOR);
    snprintf(fix, sizeof fix, "run a host of ABI %u.%u or later, or rebuild without what needs it",
             (unsigned)PGF_ABI_MAJOR, (unsigned)reading->module.needs_minor);
    return reading_refuse(reading, "needs_minor",
                          found_format(reading, "%u", (unsigned)reading->module.needs_minor),
                          expected, fix);
}

bool check_step_size(struct reading *reading)
{
    return check_size(reading, "step_size", reading->module.step_size, STEP_SIZE_1_0,
                      LIMIT_DESCRIPTOR_STRUCT, "fill steps, n_steps and step_size by PGF_ARRAY");
}

bool check_counts(struct reading *reading)
{
    uint32_t n = reading->module.n_steps;
    if (n >= 1 && n <= LIMIT_STEPS)
        return true;
    return reading_refuse(reading, "n_steps", found_format(reading, "%u", (unsigned)n),
                          "1 to 1000 steps",
                          n == 0 ? "give the flow a step" : "split the flow, or use a map step");
}

static bool copy_step(struct reading *reading, uint32_t i)
{
    uint32_t stride = reading->module.step_size;
    uintptr_t array = (uintptr_t)reading->module.steps;
    uint64_t offset = (uint64_t)stride * i;
    pgf_step *step = &reading->raw[i];
    /* Wraps for an array at the end of the address space: unreadable, not ours. */
    uintptr_t at = array > UINTPTR_MAX - offset ? UINTPTR_MAX : array + offset;
    uint32_t size = 0;
    if (!reading_copy(reading, i == 0 ? "steps" : field_of_step(reading, i, "struct_size"),
                      array == 0 ? 0 : at, &size, sizeof size))
        return false;
    if (size == 0)
        size = stride;
    if (!check_size(reading, field_of_step(reading, i, "struct_size"), size, STEP_SIZE_1_0, stride,
                    "write sizeof(pgf_step) or 0 (the module's step_size)"))
        return false;
    return reading_copy(reading, field_of_step(reading, i, "slug"), at, step,
                        size < sizeof *step ? size : sizeof *step);
}

bool copy_steps(struct reading *reading)
{
    uint32_t n = reading->module.n_steps;
    reading->raw = calloc(n, sizeof *reading->raw);
    if (reading->raw == NULL)
        return error_out_of_memory(reading->error);
    for (uint32_t i = 0; i < n; i++)
        if (!copy_step(reading, i))
            return false;
    reading->steps = reading_alloc(reading, n * sizeof *reading->steps);
    reading->out->steps = reading->steps;
    reading->out->n_steps = n;
    return reading->steps != NULL;
}

static bool copy_option_set(struct reading *reading, const char *field, const pgf_options *foreign,
                            pgf_options *out)
{
    uint32_t size = 0;
    uintptr_t at = (uintptr_t)foreign;
    out->struct_size = (uint32_t)sizeof *out;
    if (foreign == NULL)
        return true;
    if (!reading_copy(reading, field, at, &size, sizeof size))
        return false;
    if (size == 0)
        size = OPTIONS_SIZE_1_0;
    if (!check_size(reading, field, size, OPTIONS_SIZE_1_0, LIMIT_DESCRIPTOR_STRUCT,
                    "write sizeof(pgf_options) or 0 into struct_size"))
        return false;
    if (!reading_copy(reading, field, at, out, size < sizeof *out ? size : sizeof *out))
        return false;
    out->struct_size = (uint32_t)sizeof *out;
    return true;
}

bool copy_options(struct reading *reading)
{
    if (!copy_option_set(reading, "options.struct_size", reading->module.options,
                         &reading->out->options))
        return false;
    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        if (!copy_option_set(reading, field_of_step(reading, i, "options.struct_size"),
                             reading->raw[i].options, &reading->steps[i].options))
            return false;
    return true;
}

static bool check_step_words(struct reading *reading, uint32_t i)
{
    const pgf_step *step = &reading->raw[i];
    if (step->kind > PGF_STEP_MAP)
        return reading_refuse(reading, field_of_step(reading, i, "kind"),
                              found_format(reading, "%u", (unsigned)step->kind),
                              "0 (PGF_STEP_SINGLE) or 1 (PGF_STEP_MAP)", zero_initialise);
    if ((step->flags & ~PGF_WANTS_FLOW_INPUT) != 0)
        return reading_refuse(reading, field_of_step(reading, i, "flags"),
                              found_format(reading, "0x%x", (unsigned)step->flags),
                              "0 or 1 (PGF_WANTS_FLOW_INPUT)", zero_initialise);
    return true;
}

bool check_kinds_modes_flags(struct reading *reading)
{
    const pgf_module *module = &reading->module;
    if ((module->flags & ~PGF_MAY_GROW) != 0)
        return reading_refuse(reading, "flags",
                              found_format(reading, "0x%x", (unsigned)module->flags),
                              "0 or 1 (PGF_MAY_GROW)", zero_initialise);
    /* An older host would refuse it with a message about a zeroed struct. */
    if (module->flags != 0 && module->needs_minor < MINOR_OF_FLAGS)
        return reading_refuse(reading, "needs_minor",
                              found_format(reading, "%u", (unsigned)module->needs_minor),
                              "at least 1 with flags set", "set .needs_minor = 1");
    if (module->queue_mode > PGF_QUEUE_ROUTED)
        return reading_refuse(
            reading, "queue_mode", found_format(reading, "%u", (unsigned)module->queue_mode),
            "0 (PGF_QUEUE_FLOW), 1 (PGF_QUEUE_STEP) or 2 (PGF_QUEUE_ROUTED)", zero_initialise);
    for (uint32_t i = 0; i < module->n_steps; i++)
        if (!check_step_words(reading, i))
            return false;
    return true;
}

static bool check_zero(struct reading *reading, const char *field, uint32_t word)
{
    return word == 0 ||
           reading_refuse(reading, field, found_format(reading, "0x%x", (unsigned)word),
                          "0: it is reserved", zero_initialise);
}

bool check_reserved(struct reading *reading)
{
    if (!check_zero(reading, "reserved", reading->module.reserved) ||
        !check_zero(reading, "options.reserved", reading->out->options.reserved))
        return false;
    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        if (!check_zero(reading, field_of_step(reading, i, "reserved"), reading->raw[i].reserved) ||
            !check_zero(reading, field_of_step(reading, i, "options.reserved"),
                        reading->steps[i].options.reserved))
            return false;
    return true;
}
