#include "observe/http_places.h"

#include <stddef.h>
#include <sys/socket.h>
#include <uv.h>

void http_places_init(struct http_places *places)
{
    places->head.prev = places->head.next = &places->head;
    places->count = 0;
}

void http_places_leave(struct http_places *places, struct http_place *place)
{
    if (place->next == NULL)
        return;
    place->prev->next = place->next;
    place->next->prev = place->prev;
    place->prev = place->next = NULL;
    places->count--;
}

void http_places_take(struct http_places *places, struct http_place *place)
{
    struct http_place *head = &places->head;

    http_places_leave(places, place);
    place->answered_ns = uv_hrtime();
    place->next = head;
    place->prev = head->prev;
    head->prev->next = place;
    head->prev = place;
    places->count++;
}

bool http_places_first_is_in_use(const struct http_places *places, uint64_t within_ns)
{
    return uv_hrtime() - places->head.next->answered_ns < within_ns;
}

bool http_places_drop_first(struct http_places *places)
{
    struct http_place *first = places->head.next;

    if (first == &places->head)
        return false;
    http_places_leave(places, first);
    (void)shutdown(first->fd, SHUT_RDWR);
    return true;
}
