#include "observe/http_places.h"

#include <stddef.h>
#include <sys/socket.h>
#include <uv.h>

void http_places_init(struct http_places *places)
{
    TAILQ_INIT(&places->order);
    places->count = 0;
}

void http_places_leave(struct http_places *places, struct http_place *place)
{
    if (!place->is_taken)
        return;
    TAILQ_REMOVE(&places->order, place, link);
    place->is_taken = false;
    places->count--;
}

void http_places_take(struct http_places *places, struct http_place *place)
{
    http_places_leave(places, place);
    place->answered_ns = uv_hrtime();
    place->is_taken = true;
    TAILQ_INSERT_TAIL(&places->order, place, link);
    places->count++;
}

bool http_places_first_is_in_use(const struct http_places *places, uint64_t within_ns)
{
    return uv_hrtime() - TAILQ_FIRST(&places->order)->answered_ns < within_ns;
}

bool http_places_drop_first(struct http_places *places)
{
    struct http_place *first = TAILQ_FIRST(&places->order);

    if (first == NULL)
        return false;
    http_places_leave(places, first);
    (void)shutdown(first->fd, SHUT_RDWR);
    return true;
}
