/*
 * The encoder of statement parameters. The binary form of an array: dimensions,
 * "has nulls", element type, length and lower bound of its one dimension, then
 * each element as length and bytes; integers in network order.
 */
#include "db/params.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

/* Of pg_type: fixed for ever, since they are part of the protocol. */
#define OID_BOOL 16
#define OID_INT4 23
#define OID_TEXT 25
#define OID_BOOL_ARRAY 1000
#define OID_INT4_ARRAY 1007
#define OID_TEXT_ARRAY 1009

static const struct {
    Oid array, element;
} types[] = {
    [PARAMS_TEXT_ARRAY] = {OID_TEXT_ARRAY, OID_TEXT},
    [PARAMS_INT_ARRAY] = {OID_INT4_ARRAY, OID_INT4},
    [PARAMS_BOOL_ARRAY] = {OID_BOOL_ARRAY, OID_BOOL},
};

void params_init(struct params *params)
{
    params->count = 0;
}

void params_free(struct params *params)
{
    for (int i = 0; i < params->count; i++)
        buf_free(&params->items[i].bytes);
    params->count = 0;
}

bool params_ok(const struct params *params)
{
    size_t total = 0;
    for (int i = 0; i < params->count; i++) {
        if (!buf_ok(&params->items[i].bytes))
            return false;
        total += params->items[i].bytes.size;
    }
    return total <= LIMIT_DB_STATEMENT_BYTES;
}

static struct param *next(struct params *params, Oid type, int format)
{
    struct param *param = &params->items[params->count++];
    *param = (struct param){.type = type, .format = format};
    buf_init(&param->bytes, LIMIT_DB_STATEMENT_BYTES);
    return param;
}

void params_text(struct params *params, const char *text)
{
    struct param *param = next(params, 0, 0);
    param->is_null = text == NULL;
    if (text != NULL)
        buf_puts(&param->bytes, text);
}

void params_int(struct params *params, int value)
{
    buf_printf(&next(params, OID_INT4, 0)->bytes, "%d", value);
}

void params_bool(struct params *params, bool value)
{
    buf_putc(&next(params, OID_BOOL, 0)->bytes, value ? 't' : 'f');
}

static void put_uint32(struct param *param, uint32_t value)
{
    uint32_t wire = htonl(value);
    buf_put(&param->bytes, &wire, sizeof wire);
}

struct param *params_array(struct params *params, enum params_array kind, size_t count,
                           size_t bytes)
{
    struct param *param = next(params, types[kind].array, 1);
    /* 20 bytes of head, 4 of length an element: the doubling of a growing
     * buffer would copy a large output again and again. */
    if (bytes > 0 && buf_reserve(&param->bytes, bytes + 20 + 4 * count) == NULL)
        return param;
    put_uint32(param, count > 0 ? 1 : 0);
    put_uint32(param, 1);
    put_uint32(param, types[kind].element);
    if (count > 0) {
        put_uint32(param, (uint32_t)count);
        put_uint32(param, 1);
    }
    return param;
}

void param_put_text(struct param *param, const char *text, size_t size)
{
    if (text == NULL) {
        param_put_null(param);
        return;
    }
    put_uint32(param, (uint32_t)size);
    buf_put(&param->bytes, text, size);
}

void param_put_int(struct param *param, int value)
{
    put_uint32(param, sizeof(uint32_t));
    put_uint32(param, (uint32_t)value);
}

void param_put_bool(struct param *param, bool value)
{
    put_uint32(param, 1);
    buf_putc(&param->bytes, value ? 1 : 0);
}

void param_put_null(struct param *param)
{
    put_uint32(param, UINT32_MAX);
}
