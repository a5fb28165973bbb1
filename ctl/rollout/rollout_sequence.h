/*
 * The statements of one deployment, in the order of docs/operations/rollout.md.
 */
#ifndef PGFLOW_CTL_ROLLOUT_ROLLOUT_SEQUENCE_H
#define PGFLOW_CTL_ROLLOUT_ROLLOUT_SEQUENCE_H

#include "base/buf.h"

struct manifest;

/* Blocks of sql/rollout under headings, with the manifest's names filled in as
 * literals. What a manifest cannot say (the new version on a shared queue) stays
 * a name of psql, and a comment says to \set it. */
void rollout_sequence_put(struct buf *out, const struct manifest *manifest);

#endif
