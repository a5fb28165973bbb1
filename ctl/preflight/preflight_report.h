/*
 * A verdict for people, or as one JSON object.
 */
#ifndef PGFLOW_CTL_PREFLIGHT_PREFLIGHT_REPORT_H
#define PGFLOW_CTL_PREFLIGHT_PREFLIGHT_REPORT_H

#include "ctl/preflight/preflight.h"

#include "base/buf.h"

void preflight_print(const struct preflight *preflight, enum preflight_verdict verdict);
/* Look at buf_ok(). */
void preflight_put_json(struct buf *out, const struct preflight *preflight,
                        enum preflight_verdict verdict);

#endif
