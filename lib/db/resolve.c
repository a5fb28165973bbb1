/*
 * All host names of one address looked up side by side, then joined to lists.
 * libpq pairs host, hostaddr and port by position, so a name with three
 * addresses is named three times (host stays: TLS and .pgpass need it).
 */
#include "db/resolve.h"

#include "base/buf.h"
#include "base/limits.h"
#include "db/address_parts.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct target {
    const char *host; /* borrowed from the lookup's name */
    const char *port;
    char address[NI_MAXHOST]; /* "": a socket folder, or a default */
};

struct lookup {
    struct resolve *owner;
    uv_getaddrinfo_t request;
    struct addrinfo *answer;
    int status;
};

struct resolve {
    resolve_done done; /* NULL: cancelled */
    void *ctx;
    unsigned rotation;
    size_t waiting; /* lookups that have not answered */
    char **hosts;
    char **ports;
    size_t host_count, port_count;
    struct lookup *lookups; /* one a host */
    struct target targets[LIMIT_DB_ADDRESSES];
    size_t target_count;
};

static void destroy(struct resolve *resolve)
{
    for (size_t i = 0; resolve->lookups != NULL && i < resolve->host_count; i++)
        uv_freeaddrinfo(resolve->lookups[i].answer);
    db_address_free_parts(resolve->hosts, resolve->host_count);
    db_address_free_parts(resolve->ports, resolve->port_count);
    free(resolve->lookups);
    free(resolve);
}

static void add_target(struct resolve *resolve, size_t host, const char *address)
{
    if (resolve->target_count == LIMIT_DB_ADDRESSES)
        return;
    struct target *target = &resolve->targets[resolve->target_count++];
    target->host = resolve->hosts[host];
    target->port =
        resolve->ports != NULL ? resolve->ports[resolve->port_count == 1 ? 0 : host] : "";
    (void)snprintf(target->address, sizeof target->address, "%s", address);
}

static void add_answers(struct resolve *resolve, size_t host)
{
    for (struct addrinfo *a = resolve->lookups[host].answer; a != NULL; a = a->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
            add_target(resolve, host, text);
    }
}

static bool needs_lookup(const char *host)
{
    return *host != '\0' && *host != '/' && *host != '@';
}

static void collect_targets(struct resolve *resolve)
{
    for (size_t i = 0; i < resolve->host_count; i++) {
        if (needs_lookup(resolve->hosts[i]))
            add_answers(resolve, i);
        else
            add_target(resolve, i, "");
    }
}

static void hand_over_targets(struct resolve *resolve)
{
    struct buf lists[3];
    for (size_t i = 0; i < 3; i++)
        buf_init(&lists[i], LIMIT_MIB);
    for (size_t i = 0; i < resolve->target_count; i++) {
        const struct target *target =
            &resolve->targets[(i + resolve->rotation) % resolve->target_count];
        const char *const values[] = {target->host, target->address, target->port};
        for (size_t k = 0; k < 3; k++) {
            if (i > 0)
                buf_putc(&lists[k], ',');
            buf_puts(&lists[k], values[k]);
        }
    }
    struct resolved resolved = {lists[0].data, lists[1].data, lists[2].data};
    if (buf_ok(&lists[0]) && buf_ok(&lists[1]) && buf_ok(&lists[2]))
        resolve->done(resolve->ctx, &resolved, NULL);
    else
        resolve->done(resolve->ctx, NULL, "out of memory");
    for (size_t i = 0; i < 3; i++)
        buf_free(&lists[i]);
}

static void hand_over_failure(const struct resolve *resolve)
{
    for (size_t i = 0; i < resolve->host_count; i++) {
        char reason[NI_MAXHOST + 128];
        if (resolve->lookups[i].status == 0)
            continue;
        (void)snprintf(reason, sizeof reason, "cannot resolve host name \"%s\": %s",
                       resolve->hosts[i], uv_strerror(resolve->lookups[i].status));
        resolve->done(resolve->ctx, NULL, reason);
        return;
    }
    resolve->done(resolve->ctx, NULL, "the host names of the database URL gave no address");
}

static void finish(struct resolve *resolve)
{
    if (resolve->done != NULL) {
        collect_targets(resolve);
        if (resolve->target_count > 0)
            hand_over_targets(resolve);
        else
            hand_over_failure(resolve);
    }
    destroy(resolve);
}

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *answer)
{
    struct lookup *lookup = request->data;
    lookup->status = status;
    lookup->answer = answer;
    if (--lookup->owner->waiting == 0)
        finish(lookup->owner);
}

static void start_lookups(uv_loop_t *loop, struct resolve *resolve)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    for (size_t i = 0; i < resolve->host_count; i++) {
        struct lookup *lookup = &resolve->lookups[i];
        lookup->owner = resolve;
        lookup->request.data = lookup;
        if (!needs_lookup(resolve->hosts[i]))
            continue;
        lookup->status =
            uv_getaddrinfo(loop, &lookup->request, on_answer, resolve->hosts[i], NULL, &hints);
        if (lookup->status == 0)
            resolve->waiting++;
    }
}

static bool split(struct resolve *resolve, const struct db_address *address)
{
    resolve->hosts = db_address_split(address->host, &resolve->host_count);
    if (address->port != NULL)
        resolve->ports = db_address_split(address->port, &resolve->port_count);
    resolve->lookups = calloc(resolve->host_count, sizeof *resolve->lookups);
    return resolve->hosts != NULL && resolve->lookups != NULL &&
           (address->port == NULL || resolve->ports != NULL);
}

struct resolve *resolve_start(uv_loop_t *loop, const struct db_address *address, unsigned rotation,
                              resolve_done done, void *ctx)
{
    struct resolved as_given = {address->host, address->hostaddr, address->port};
    if (address->hostaddr != NULL || address->host == NULL) {
        done(ctx, &as_given, NULL);
        return NULL;
    }
    struct resolve *resolve = calloc(1, sizeof *resolve);
    if (resolve == NULL || !split(resolve, address)) {
        if (resolve != NULL)
            destroy(resolve);
        done(ctx, NULL, "out of memory");
        return NULL;
    }
    resolve->done = done;
    resolve->ctx = ctx;
    resolve->rotation = rotation;
    /* Port lists of another length than the hosts: libpq's error is the best. */
    if (resolve->port_count > 1 && resolve->port_count != resolve->host_count) {
        done(ctx, &as_given, NULL);
        destroy(resolve);
        return NULL;
    }
    start_lookups(loop, resolve);
    if (resolve->waiting > 0)
        return resolve;
    finish(resolve);
    return NULL;
}

void resolve_cancel(struct resolve *resolve)
{
    resolve->done = NULL;
    for (size_t i = 0; i < resolve->host_count; i++) {
        if (needs_lookup(resolve->hosts[i]))
            (void)uv_cancel((uv_req_t *)&resolve->lookups[i].request);
    }
}
