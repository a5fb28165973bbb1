/* SPDX-License-Identifier: Apache-2.0 */
#include "alert.h"

#include <pgflow/json.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUBJECT_BYTES = 200, ALERT_BYTES = 4096 };

/* Slack gives a meaning to these three, and asks for them as entities; a line's end would begin
 * a line of ours. Cut at `limit` bytes of the text, never within a character. */
static void put_escaped(FILE *out, const char *text, size_t limit)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (i >= limit && ((unsigned char)text[i] & 0xC0) != 0x80) {
            fputs("\xe2\x80\xa6", out); /* U+2026 HORIZONTAL ELLIPSIS */
            return;
        }
        switch (text[i]) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '\n':
        case '\r':
            fputc(' ', out);
            break;
        default:
            fputc(text[i], out);
        }
    }
}

static void put_alert(FILE *out, const cJSON *verdict)
{
    const char *before = "\nBecause of: ";
    const char *link = pgf_json_text(verdict, "link", NULL);
    const cJSON *phrase = NULL;
    fputs("Urgent (", out);
    put_escaped(out, pgf_json_text(verdict, "category", "other"), SUBJECT_BYTES);
    fputs("): ", out);
    put_escaped(out, pgf_json_text(verdict, "subject", ""), SUBJECT_BYTES);
    fputs(" [", out);
    put_escaped(out, pgf_json_text(verdict, "id", ""), SUBJECT_BYTES);
    fputs("]", out);
    cJSON_ArrayForEach(phrase, pgf_json_member(verdict, "because"))
    {
        fputs(before, out);
        put_escaped(out, cJSON_IsString(phrase) ? phrase->valuestring : "", SUBJECT_BYTES);
        before = ", ";
    }
    if (link != NULL) {
        fputs("\n", out);
        put_escaped(out, link, ALERT_BYTES);
    }
}

char *alert_text(const cJSON *verdict)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort(); /* as cJSON does in this module: one attempt of one task */
    put_alert(out, verdict);
    if (fclose(out) != 0)
        abort();
    cJSON *alert = cJSON_CreateObject();
    cJSON_AddStringToObject(alert, "text", text);
    free(text);
    char *json = cJSON_PrintUnformatted(alert);
    cJSON_Delete(alert);
    return json;
}
