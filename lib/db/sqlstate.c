/*
 * Classes of SQLSTATE, and finding one in libpq's text: libpq has no function
 * that gives the SQLSTATE of a refused connection.
 */
#include "db/sqlstate.h"

#include <stdio.h>
#include <string.h>

static bool has_class(const char *sqlstate, const char *class)
{
    return strncmp(sqlstate, class, 2) == 0;
}

bool sqlstate_is_permanent(const char *sqlstate)
{
    static const char *const passing[] = {"08", "40", "53", "55", "57", "58"};
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        if (has_class(sqlstate, passing[i]))
            return false;
    }
    return !sqlstate_is_read_only(sqlstate);
}

bool sqlstate_is_race(const char *sqlstate)
{
    return strcmp(sqlstate, "40001") == 0 || strcmp(sqlstate, "40P01") == 0;
}

bool sqlstate_is_stale_statement(const char *sqlstate)
{
    return strcmp(sqlstate, "0A000") == 0 || strcmp(sqlstate, "26000") == 0 ||
           strcmp(sqlstate, "42P05") == 0;
}

bool sqlstate_is_read_only(const char *sqlstate)
{
    return strcmp(sqlstate, "25006") == 0;
}

bool sqlstate_refuses_for_good(const char *sqlstate)
{
    return has_class(sqlstate, "28") || strcmp(sqlstate, "3D000") == 0 ||
           strcmp(sqlstate, "42501") == 0;
}

/* Is this ":  XXXXX: ", as libpq's verbose form has it? */
static bool is_marked_sqlstate(const char *text)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return strncmp(text, ":  ", 3) == 0 && strspn(text + 3, letters) == 5 &&
           strncmp(text + 8, ": ", 2) == 0;
}

bool sqlstate_find(const char *text, char sqlstate[6])
{
    bool found = false;
    for (const char *c = strchr(text, ':'); c != NULL; c = strchr(c + 1, ':')) {
        if (!is_marked_sqlstate(c))
            continue;
        memcpy(sqlstate, c + 3, 5);
        sqlstate[5] = '\0';
        found = true;
    }
    return found;
}

/* The length of the severity word that ends at the marked SQLSTATE. */
static size_t severity_length(const char *line, const char *mark)
{
    size_t length = 0;
    while (mark - length > line && mark[-1 - (ptrdiff_t)length] != ' ')
        length++;
    return length;
}

static void put_line(char *out, size_t size, const char *line, size_t length)
{
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy),
                   line);
    for (char *c = strchr(copy, ':'); c != NULL; c = strchr(c + 1, ':')) {
        if (!is_marked_sqlstate(c))
            continue;
        char *from = c - severity_length(copy, c);
        memmove(from, c + 10, strlen(c + 10) + 1);
        break;
    }
    size_t used = strlen(out);
    (void)snprintf(out + used, size - used, "%s%s", used ? "; " : "", copy);
}

void sqlstate_describe(char *out, size_t size, const char *text)
{
    out[0] = '\0';
    while (*text) {
        size_t length = strcspn(text, "\n");
        while (length > 0 && (*text == ' ' || *text == '\t')) {
            text++;
            length--;
        }
        if (length > 0 && strncmp(text, "LOCATION:", 9) != 0 && strlen(out) + 4 < size)
            put_line(out, size, text, length);
        text += length;
        text += *text == '\n';
    }
}
