/* The life of a descriptor and the order of its checks; the checks themselves are
 * in descriptor_fixed.c, descriptor_names.c and descriptor_rules.c. */
#include "runner/descriptor.h"
#include "runner/descriptor_reading.h"

#include <stdlib.h>

/* The order is part of the ABI's contract: of several violations the first one here
 * is reported. */
static bool (*const checks[])(struct reading *) = {
    check_magic,         check_major,        check_struct_size,
    check_needs_minor,   check_step_size,    check_counts,
    copy_steps,          copy_options,       check_kinds_modes_flags,
    check_reserved,      check_slugs,        check_alias,
    check_unique_slugs,  check_dependencies, check_maps,
    check_option_ranges, check_when_words,   check_patterns,
    check_other_text,    check_routes,       check_queue_names,
    check_handlers,
};

static void take_fixed_parts(struct reading *reading)
{
    struct descriptor *out = reading->out;
    const pgf_module *module = &reading->module;
    out->abi_minor = module->abi_minor;
    out->needs_minor = module->needs_minor;
    out->flags = module->flags;
    out->queue_mode = module->queue_mode;
    out->init = module->init;
    out->fini = module->fini;
    out->extension = module->extension;
    for (uint32_t i = 0; i < module->n_steps; i++) {
        reading->steps[i].kind = reading->raw[i].kind;
        reading->steps[i].flags = reading->raw[i].flags;
        reading->steps[i].run = reading->raw[i].run;
    }
}

static bool run_checks(struct reading *reading)
{
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (!checks[i](reading))
            return false;
    take_fixed_parts(reading);
    return true;
}

struct descriptor *descriptor_read(const void *symbol, const char *file, struct error *error)
{
    struct owned_descriptor *owner = calloc(1, sizeof *owner);
    struct reading *reading = calloc(1, sizeof *reading);
    struct descriptor *result = NULL;
    if (owner == NULL || reading == NULL) {
        (void)error_out_of_memory(error);
        free(owner);
        free(reading);
        return NULL;
    }
    reading->file = file;
    reading->error = error;
    reading->symbol = (uintptr_t)symbol;
    reading->out = &owner->descriptor;
    if (run_checks(reading))
        result = &owner->descriptor;
    else
        descriptor_free(&owner->descriptor);
    free(reading->raw);
    free(reading->by_name);
    free(reading);
    return result;
}

void descriptor_free(struct descriptor *descriptor)
{
    struct owned_descriptor *owner = (struct owned_descriptor *)descriptor;
    if (owner == NULL)
        return;
    while (!SLIST_EMPTY(&owner->blocks)) {
        struct block *block = SLIST_FIRST(&owner->blocks);
        SLIST_REMOVE_HEAD(&owner->blocks, link);
        free(block);
    }
    free(owner);
}

const char *descriptor_kind_name(uint32_t kind)
{
    return kind == PGF_STEP_MAP ? "map" : "single";
}
