/*
 * The parameters of one statement, in the form that costs least: scalars as
 * text, arrays in PostgreSQL's binary form, so that an output of many MiB is
 * copied once and never escaped. Sticky error as struct buf. Owns its bytes.
 */
#ifndef PGFLOW_DB_PARAMS_H
#define PGFLOW_DB_PARAMS_H

#include "base/buf.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

#define PARAMS_MAX 10

struct param {
    struct buf bytes;
    Oid type;
    int format; /* 0 text, 1 binary */
    bool is_null;
};

struct params {
    struct param items[PARAMS_MAX];
    int count;
};

void params_init(struct params *params);
void params_free(struct params *params);

/* Everything was put, and it is below LIMIT_DB_STATEMENT_BYTES in all. */
bool params_ok(const struct params *params) MUST_CHECK;

/* The next parameter; NULL text is SQL null. The type is left to the server. */
void params_text(struct params *params, const char *text);
void params_int(struct params *params, int value);
void params_bool(struct params *params, bool value);

/*
 * The next parameter, an array of `count` elements, to be put in order with
 * the functions below. `bytes`: what the elements will need, to allocate once;
 * 0: unknown. No pointer to it stays valid past the next params_ call.
 */
enum params_array { PARAMS_TEXT_ARRAY, PARAMS_INT_ARRAY, PARAMS_BOOL_ARRAY };
struct param *params_array(struct params *params, enum params_array kind, size_t count,
                           size_t bytes);
void param_put_text(struct param *param, const char *text, size_t size); /* NULL: null */
void param_put_int(struct param *param, int value);
void param_put_bool(struct param *param, bool value);
void param_put_null(struct param *param);

#endif
