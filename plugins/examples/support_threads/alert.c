/* SPDX-License-Identifier: Apache-2.0 */
#include "alert.h"

#include <pgflow/json.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUBJECT_BYTES = 200, ALERT_BYTES = 4096, THREADS_LISTED = 20 };

/* Slack gives a meaning to these three, and asks for them as entities; a line's end would begin
 * a line of ours. Cut at `limit` bytes of the text, never within a character. */
static void put_escaped(FILE *out, const char *text, size_t limit)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (i >= limit && ((unsigned char)text[i] & 0xC0) != 0x80) {
            (void)fputs("\xe2\x80\xa6", out); /* U+2026 HORIZONTAL ELLIPSIS */
            return;
        }
        switch (text[i]) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '\n':
        case '\r':
            (void)fputc(' ', out);
            break;
        default:
            (void)fputc(text[i], out);
        }
    }
}

static void put_alert(FILE *out, const cJSON *verdict)
{
    const char *before = "\nBecause of: ";
    const char *link = pgf_json_text(verdict, "link", NULL);
    const cJSON *phrase = NULL;
    (void)fputs("Urgent (", out);
    put_escaped(out, pgf_json_text(verdict, "category", "other"), SUBJECT_BYTES);
    (void)fputs("): ", out);
    put_escaped(out, pgf_json_text(verdict, "subject", ""), SUBJECT_BYTES);
    (void)fputs(" [", out);
    put_escaped(out, pgf_json_text(verdict, "id", ""), SUBJECT_BYTES);
    (void)fputs("]", out);
    cJSON_ArrayForEach(phrase, pgf_json_member(verdict, "because"))
    {
        (void)fputs(before, out);
        put_escaped(out, cJSON_IsString(phrase) ? phrase->valuestring : "", SUBJECT_BYTES);
        before = ", ";
    }
    if (link != NULL) {
        (void)fputs("\n", out);
        put_escaped(out, link, ALERT_BYTES);
    }
}

/* {"text": what `put` writes}. */
static char *message(void (*put)(FILE *, const cJSON *), const cJSON *about)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort(); /* as cJSON does in this module: one attempt of one task */
    put(out, about);
    if (fclose(out) != 0)
        abort();
    cJSON *alert = cJSON_CreateObject();
    cJSON_AddStringToObject(alert, "text", text);
    free(text);
    char *json = cJSON_PrintUnformatted(alert);
    cJSON_Delete(alert);
    return json;
}

char *alert_text(const cJSON *verdict)
{
    return message(put_alert, verdict);
}

static void put_digest(FILE *out, const cJSON *digest)
{
    int listed = 0;
    const cJSON *threads = pgf_json_member(digest, "threads");
    const cJSON *verdict = NULL;
    int count = cJSON_GetArraySize(threads);
    (void)fprintf(out, "%d urgent thread%s for team ", count, count == 1 ? "" : "s");
    put_escaped(out, pgf_json_text(digest, "team", ""), SUBJECT_BYTES);
    cJSON_ArrayForEach(verdict, threads)
    {
        if (listed++ == THREADS_LISTED) {
            (void)fprintf(out, "\nand %d more", count - THREADS_LISTED);
            return;
        }
        (void)fputs("\n\n", out);
        put_alert(out, verdict);
    }
}

char *digest_text(const cJSON *digest)
{
    return message(put_digest, digest);
}
