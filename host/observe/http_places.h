/*
 * The connections of the HTTP server, in the order of their last answers: the first has gone
 * without one for the longest, and is the one to go. Called by http.c.
 */
#ifndef PGFLOW_OBSERVE_HTTP_PLACES_H
#define PGFLOW_OBSERVE_HTTP_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Memory of the caller. */
struct http_place {
    TAILQ_ENTRY(http_place) link;
    bool is_taken;
    int fd;               /* of somebody else, open as long as this has a place */
    uint64_t answered_ns; /* by uv_hrtime: the last time, or when it began */
};

struct http_places {
    TAILQ_HEAD(, http_place) order;
    unsigned count;
};

void http_places_init(struct http_places *places);

/* To the end of the order: begun, or answered. */
void http_places_take(struct http_places *places, struct http_place *place);
/* It may have none. */
void http_places_leave(struct http_places *places, struct http_place *place);

/* Has the first one had its answer within this time? There is one. */
bool http_places_first_is_in_use(const struct http_places *places, uint64_t within_ns);
/* Takes its place from the first, and shuts its stream down: whoever reads from the descriptor
 * sees the end, and closes it. False: there is none. */
bool http_places_drop_first(struct http_places *places);

#endif
