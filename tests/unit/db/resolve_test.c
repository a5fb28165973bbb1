/*
 * From an address to the targets that libpq tries, as far as no name server is asked: folders of
 * sockets need no lookup.
 */
#include "base/buf.h"
#include "db/address.h"
#include "db/resolve.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct buf hosts;

static void on_resolved(void *ctx, const struct resolved *resolved, const char *reason)
{
    (void)ctx;
    cr_assert(ne(ptr, (void *)resolved, NULL), "%s", reason);
    buf_puts(&hosts, resolved->hosts);
}

/* The hosts in the order of their trial, of `host=/0,/1,…`. */
static void resolve_folders(int count, unsigned rotation)
{
    struct buf url;
    struct error error;
    uv_loop_t loop;

    buf_init(&url, LIMIT_KIB);
    buf_puts(&url, "host=");
    for (int i = 0; i < count; i++)
        buf_printf(&url, "%s/%d", i == 0 ? "" : ",", i);
    struct db_address *address = db_address_create(url.data, &error);
    cr_assert(ne(ptr, address, NULL));
    cr_assert(zero(int, uv_loop_init(&loop)));
    buf_init(&hosts, LIMIT_KIB);

    (void)resolve_start(&loop, address, rotation, on_resolved, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);

    cr_assert(zero(int, uv_loop_close(&loop)));
    db_address_destroy(address);
    buf_free(&url);
}

static void teardown(void)
{
    buf_free(&hosts);
}

TestSuite(resolve, .fini = teardown, .timeout = 10);

Test(resolve, begins_with_the_target_of_the_attempt)
{
    resolve_folders(3, 4);

    cr_assert(eq(str, hosts.data, "/1,/2,/0"));
}

Test(resolve, leaves_out_what_comes_after_64_targets)
{
    resolve_folders(LIMIT_DB_ADDRESSES + 1, LIMIT_DB_ADDRESSES - 1);

    cr_assert(zero(int, strncmp(hosts.data, "/63,/0,/1,", 10)));
    cr_assert(eq(ptr, strstr(hosts.data, "/64"), NULL));
}
