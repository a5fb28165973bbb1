/*
 * One flow module, mapped: never unmapped, never a second one.
 */
#ifndef PGFLOW_RUNNER_MODULE_H
#define PGFLOW_RUNNER_MODULE_H

#include "runner/descriptor.h"
#include "runner/options.h"

/* dlopen of the preloads and the module (RTLD_NOW, RTLD_LOCAL), its one symbol,
 * and the checks of its descriptor. The error does not begin with the file: the
 * host knows by which name the user called it. NULL: error. Runs the module's
 * constructors, so the process may also end in it. Free with descriptor_free;
 * the module stays mapped. */
struct descriptor *module_load(const struct runner_options *options,
                               struct error *error) MUST_CHECK;

#endif
