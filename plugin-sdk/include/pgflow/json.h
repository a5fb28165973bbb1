/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict JSON for handlers, over cJSON trees. Optional: link PgflowSDK::json in CMake, or compile
 * the file that `pkg-config --variable=json pgflow-sdk` names into your module and add -lcjson.
 *
 * cJSON_Parse() takes what is no JSON and changes numbers. pgf_json_parse() does not:
 *   - one value and nothing behind it; RFC 8259; UTF-8; no \u0000; surrogates in pairs; at most
 *     PGF_JSON_DEPTH levels; no key twice in one object. So what it takes PostgreSQL takes.
 *   - an integer of more than 15 digits, and a number that no double holds (1e400, 1e-400), stays
 *     as it was written: its item is cJSON_Raw and prints unchanged. pgf_json_int64() and
 * pgf_json_uint64() read both kinds. Fractions are doubles, of which cJSON prints 15 to 17 digits.
 *
 * The trees are ordinary ones of cJSON: use its functions, and cJSON_Delete() what you were given.
 * Texts are borrowed, and nothing here keeps state; messages never quote the JSON. */
#ifndef PGFLOW_JSON_H
#define PGFLOW_JSON_H

#include <cjson/cJSON.h>
#include <pgflow/module.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PGF_JSON_DEPTH 512

typedef struct pgf_json_problem pgf_json_problem;

struct pgf_json_problem {
    const char *what; /* static text */
    size_t offset;    /* bytes before it */
};

/* The tree, owned by the caller. NULL: `problem`, which may be NULL, says why. */
cJSON *pgf_json_parse(const char *text, size_t len, pgf_json_problem *problem);

/* The input of the call, or the run's; owned by the caller. NULL: the error of the attempt is set,
 * return PGF_PERMANENT. */
cJSON *pgf_json_input(const pgf_call *call);
cJSON *pgf_json_flow_input(const pgf_call *call);

/* Writes the tree as the result and deletes it; NULL counts as out of memory. Returns what the
 * handler returns: PGF_OK, or with the error set PGF_PERMANENT (too large, or NaN or infinity in
 * it), PGF_ERROR (memory). */
int32_t pgf_json_give(const pgf_call *call, cJSON *result);

/* 1: the item is a number without fraction within the range, and *value is it, exactly. 0: it is
 * not, or `item` is NULL; *value is unchanged. */
int pgf_json_int64(const cJSON *item, int64_t *value);
int pgf_json_uint64(const cJSON *item, uint64_t *value);

/* An item that prints as exactly that number. NULL: no memory. */
cJSON *pgf_json_from_int64(int64_t value);
cJSON *pgf_json_from_uint64(uint64_t value);

/* The member of exactly that name; NULL: there is none, or `object` is no object. */
cJSON *pgf_json_member(const cJSON *object, const char *name);
/* The text of a member; `otherwise` when it is missing or no text. Borrowed from the tree. */
const char *pgf_json_text(const cJSON *object, const char *name, const char *otherwise);

/* From now on an allocation of cJSON that fails aborts the process: that costs this attempt of this
 * task, and no tree can lose a branch unseen. Call it in pgf_module.init. */
void pgf_json_abort_without_memory(void);

#ifdef __cplusplus
}
#endif

#endif
