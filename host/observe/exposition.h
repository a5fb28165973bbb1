/*
 * The text exposition format of Prometheus (version 0.0.4), written into a buffer: families,
 * samples, escaped labels. Numbers are exact: counts are integers, times are nanoseconds printed as
 * seconds. Used by metrics.c and by the host's own gauges.
 */
#ifndef PGFLOW_OBSERVE_EXPOSITION_H
#define PGFLOW_OBSERVE_EXPOSITION_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Up to six; the first without a name ends them. Values are borrowed for the call. */
struct exposition_labels {
    struct {
        const char *name, *value;
    } label[6];
};

/* The head of a family: samples of it follow, and of nothing else. `type` is counter, gauge or
 * histogram; `help` is one line. */
void exposition_family(struct buf *text, const char *name, const char *type, const char *help);

/* `suffix` is "" or, of a histogram, "_bucket", "_sum" or "_count". */
void exposition_count(struct buf *text, const char *name, const char *suffix,
                      const struct exposition_labels *labels, uint64_t value);
void exposition_seconds(struct buf *text, const char *name, const char *suffix,
                        const struct exposition_labels *labels, uint64_t nanoseconds);

#endif
