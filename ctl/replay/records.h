/*
 * Recorded tasks, page by page, with their inputs as a claim builds them (_item_rows). Only reads:
 * a role that may select from the tables suffices. Each page is a short transaction.
 *
 * The pages are small enough for a fifth of a second each, and while others work on this server
 * (its databases end more than a few transactions a second) reading takes 2 % of the time.
 */
#ifndef PGFLOW_CTL_REPLAY_RECORDS_H
#define PGFLOW_CTL_REPLAY_RECORDS_H

#include "base/buf.h"
#include "base/error.h"
#include "ctl/replay/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_sync;
struct db_rows;

enum record_column {
    RECORD_RUN,
    RECORD_STEP,
    RECORD_INDEX,
    RECORD_ATTEMPT,
    RECORD_STATUS,
    RECORD_OUTPUT,
    RECORD_INPUT, /* null: it is no longer there */
    RECORD_FLOW_INPUT,
};

struct records {
    struct db_sync *db;
    const char *flow, *since;  /* since: NULL, or what PostgreSQL reads as a time */
    bool failed;               /* failed tasks too */
    long runs_left;            /* -1: all */
    struct buf steps, wanting; /* arrays of slugs */
    /* Where it stands: among the runs, newest first, and within a few of them. */
    char before[64], before_id[LIMIT_UUID_TEXT + 1];
    bool runs_ended;
    struct buf runs; /* uuids, LIMIT_UUID_TEXT each */
    char step[LIMIT_SLUG + 1], index[16];
    size_t page;
    /* How busy the server is. */
    uint64_t sampled_ms, next_ms;
    uint64_t transactions, own;
    bool is_busy;
};

bool records_open(struct records *records, struct db_sync *db, const struct plan *plan,
                  struct error *error) MUST_CHECK;
void records_close(struct records *records);

/* When the next page may be read, by clock_steady_ms. */
uint64_t records_next_ms(const struct records *records);
/* The caller destroys the rows; none: call again. *rows NULL: that was all. */
bool records_read(struct records *records, struct db_rows **rows, struct error *error) MUST_CHECK;

#endif
