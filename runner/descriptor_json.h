/*
 * A checked descriptor as one JSON document: what the runner prints in inspect
 * mode, and what the coordinator, pgflowctl and completion read. The same
 * document is the `deployment` argument of pgflow.ensure_deployment: it ignores
 * the members that are only for the host (abi, version, and per step index and
 * queue). docs/internals/descriptor.md describes each member.
 */
#ifndef PGFLOW_RUNNER_DESCRIPTOR_JSON_H
#define PGFLOW_RUNNER_DESCRIPTOR_JSON_H

#include "base/buf.h"
#include "runner/descriptor.h"

/* Appends the document, without a newline at the end. A buffer of
 * LIMIT_DESCRIPTOR_JSON holds every descriptor that passed the checks; look at
 * buf_ok(). */
void descriptor_put_json(struct buf *out, const struct descriptor *descriptor);

#endif
