/*
 * For tests: reads lines, two of them a pair of JSON texts, and prints a line for each pair: t when
 * json_view_put_canonical takes them for equal, f when not.
 */
#include "base/json_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_canonical(struct buf *out, const char *line, size_t size)
{
    struct json_view view;
    struct error error;

    buf_clear(out);
    if (!json_view_open(&view, line, size, &error)) {
        (void)fprintf(stderr, "%s: %s", error.text, line);
        exit(1);
    }
    json_view_put_canonical(out, view);
}

int main(void)
{
    struct buf text[2];
    char *line = NULL;
    size_t room = 0;
    ssize_t size;

    buf_init(&text[0], LIMIT_MIB);
    buf_init(&text[1], LIMIT_MIB);
    for (size_t i = 0; (size = getline(&line, &room, stdin)) > 0; i++) {
        put_canonical(&text[i % 2], line, (size_t)size);
        if (i % 2 == 1)
            puts(text[0].size == text[1].size &&
                         memcmp(text[0].data, text[1].data, text[0].size) == 0
                     ? "t"
                     : "f");
    }
    buf_free(&text[0]);
    buf_free(&text[1]);
    free(line);
    return 0;
}
