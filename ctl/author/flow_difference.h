/*
 * How the descriptors of two modules differ, as the database would see it: NEW given where OLD is
 * compiled. The rule is that of pgflow.ensure_deployment (sql/core/25_deployments,
 * _deployment_differences and _option_drift): alias, queue mode, steps in their order, and of each
 * step its type, dependencies as a set, condition modes and patterns as jsonb, route and contract
 * never change under one slug. Options may differ.
 */
#ifndef PGFLOW_CTL_AUTHOR_FLOW_DIFFERENCE_H
#define PGFLOW_CTL_AUTHOR_FLOW_DIFFERENCE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json_view.h"

#include <stdbool.h>
#include <stddef.h>

enum flow_line_kind {
    FLOW_DIFFERS,          /* needs a slug of its own */
    FLOW_OPTION_DIFFERS,   /* pgflowctl options --apply brings it */
    FLOW_WITHOUT_CONTRACT, /* a step that neither module has a contract for */
    FLOW_LINE_KINDS,
};

/* Called for each line, in the order of the steps. */
typedef void (*flow_line)(void *ctx, enum flow_line_kind kind, const char *text);

/* Both are documents of runner/descriptor_json.h. False: ERROR_INTERNAL, no memory. */
bool flow_compare(struct json_view old, struct json_view new, flow_line line, void *ctx,
                  struct error *error) MUST_CHECK;

#endif
