/* SPDX-License-Identifier: Apache-2.0
 * Writes the report in Markdown. It appears at its path as a whole or not at all: written
 * beside it, then renamed; so a repeated attempt only writes it again. */
#include "call_text.h"
#include "steps.h"

#include <errno.h>
#include <limits.h>
#include <pgflow/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

static int number_of(const cJSON *object, const char *name)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(number) ? number->valueint : 0;
}

/* A licence's name may hold the sign that ends a table cell. */
static void put_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '|' ? "\\|" : "%c", *text);
}

static void put_table(FILE *out, const char *title, const cJSON *rows, const char *key)
{
    const cJSON *row = NULL;
    int most = number_of(cJSON_GetArrayItem(rows, 0), "packages");
    if (cJSON_GetArraySize(rows) == 0)
        return;
    (void)fprintf(out, "\n## By %s\n\n| %s | packages | |\n|---|---:|---|\n", title, title);
    cJSON_ArrayForEach(row, rows)
    {
        int packages = number_of(row, "packages");
        int bar = most > 0 ? (int)(((long)packages * BAR_WIDTH + most - 1) / most) : 0;
        (void)fputs("| ", out);
        put_cell(out, pgf_json_text(row, key, "?"));
        (void)fprintf(out, " | %d | ", packages);
        for (int i = 0; i < bar; i++)
            (void)fputs("\xe2\x96\x88", out); /* U+2588 FULL BLOCK */
        (void)fputs(" |\n", out);
    }
}

static void put_report(FILE *out, const pgf_call *call, const cJSON *summary, const char *folder)
{
    (void)fputs("# Licence audit\n\n", out);
    (void)fprintf(out, "%d packages under `%s`: %d without a recognised licence, %d unreadable.\n",
                  number_of(summary, "packages"), folder, number_of(summary, "unrecognised"),
                  number_of(summary, "unreadable"));
    (void)fprintf(
        out, "Made by `%.*s`, run `%.*s`. A package with several licences counts in each.\n",
        (int)call->flow_slug.len, call->flow_slug.ptr, (int)call->run_id.len, call->run_id.ptr);
    put_table(out, "family", cJSON_GetObjectItemCaseSensitive(summary, "byFamily"), "family");
    put_table(out, "licence", cJSON_GetObjectItemCaseSensitive(summary, "byLicense"), "license");
}

static bool report_path(const pgf_call *call, const cJSON *run, char *path, size_t size)
{
    const char *asked = pgf_json_text(run, "report", NULL);
    const char *folder = getenv("TMPDIR");
    int length = asked != NULL ? snprintf(path, size, "%s", asked)
                               : snprintf(path, size, "%s/license-audit-%.*s.md",
                                          folder != NULL && folder[0] != '\0' ? folder : "/tmp",
                                          (int)call->run_id.len, call->run_id.ptr);
    return length > 0 && (size_t)length < size;
}

/* Bytes written, or -1 and errno. */
static long write_report(const pgf_call *call, const cJSON *summary, const char *folder,
                         const char *path)
{
    char beside[PATH_MAX + 8];
    (void)snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    int fd = mkstemp(beside);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    put_report(out, call, summary, folder);
    long bytes = ftell(out);
    bool ok = !ferror(out);
    ok = fclose(out) == 0 && ok;
    if (ok && rename(beside, path) == 0)
        return bytes;
    int problem = errno;
    (void)unlink(beside);
    errno = problem;
    return -1;
}

int32_t step_report(void *state, const pgf_call *call)
{
    char path[PATH_MAX];
    (void)state;
    cJSON *input = pgf_json_input(call);
    cJSON *run = pgf_json_flow_input(call);
    int32_t answer = PGF_ERROR;
    const cJSON *summary = cJSON_GetObjectItemCaseSensitive(input, "summary");
    if (summary == NULL || run == NULL) {
        answer = call_fail(call, PGF_ERROR, "the result of summary cannot be read");
    } else if (!report_path(call, run, path, sizeof path)) {
        answer = call_fail(call, PGF_PERMANENT, "\"report\" is empty or longer than a path may be");
    } else {
        long bytes =
            write_report(call, summary, pgf_json_text(run, "folder", "/usr/share/doc"), path);
        if (bytes < 0) {
            answer = call_fail(call, PGF_ERROR, "cannot write '%s': %s", path, strerror(errno));
        } else {
            cJSON *result = cJSON_CreateObject();
            cJSON_AddStringToObject(result, "file", path);
            cJSON_AddNumberToObject(result, "bytes", (double)bytes);
            answer = pgf_json_give(call, result);
        }
    }
    cJSON_Delete(run);
    cJSON_Delete(input);
    return answer;
}
