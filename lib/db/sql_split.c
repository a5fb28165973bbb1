/*
 * Where a statement ends: at a semicolon that is not within a comment, a quoted
 * text, a quoted name or a dollar-quoted text.
 */
#include "db/sql_split.h"

#include <ctype.h>
#include <string.h>

static const char *skip_line_comment(const char *at)
{
    return at + strcspn(at, "\n");
}

static const char *skip_block_comment(const char *at)
{
    int depth = 0;
    do {
        if (strncmp(at, "/*", 2) == 0) {
            depth++;
            at += 2;
        } else if (strncmp(at, "*/", 2) == 0) {
            depth--;
            at += 2;
        } else if (*at) {
            at++;
        }
    } while (depth > 0 && *at);
    return at;
}

/* A doubled quote reads as the end of one text and the beginning of another. */
static const char *skip_quoted(const char *at, bool escapes)
{
    char quote = *at++;
    while (*at && *at != quote)
        at += escapes && *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* $1 is a parameter, a$b a name: only $tag$ opens a text. */
static const char *skip_dollar(const char *at)
{
    const char *end = at + 1;
    while (is_name(*end))
        end++;
    if (*end != '$' || isdigit((unsigned char)at[1]))
        return at + 1;
    size_t size = (size_t)(end - at) + 1;
    for (const char *close = end + 1; (close = strchr(close, '$')) != NULL; close++) {
        if (strncmp(close, at, size) == 0)
            return close + size;
    }
    return at + strlen(at);
}

static const char *skip_word(const char *at)
{
    while (is_name(*at) || *at == '$')
        at++;
    return at;
}

static const char *skip_one(const char *at)
{
    bool escapes = (*at == 'e' || *at == 'E') && at[1] == '\'';
    if (escapes)
        return skip_quoted(at + 1, true);
    if (strncmp(at, "--", 2) == 0)
        return skip_line_comment(at);
    if (strncmp(at, "/*", 2) == 0)
        return skip_block_comment(at);
    if (*at == '\'' || *at == '"')
        return skip_quoted(at, false);
    if (*at == '$')
        return skip_dollar(at);
    return is_name(*at) ? skip_word(at) : at + 1;
}

static bool says_repeat(const char *line)
{
    static const char word[] = "-- repeat";
    size_t size = sizeof word - 1;
    return strncmp(line, word, size) == 0 && (line[size] == '\n' || line[size] == '\0');
}

bool sql_split_next(const char **at, struct sql_piece *piece)
{
    const char *p = *at;
    piece->repeats = false;
    while (*p) {
        if (strncmp(p, "--", 2) == 0) {
            piece->repeats = piece->repeats || says_repeat(p);
            p = skip_line_comment(p);
        } else if (strncmp(p, "/*", 2) == 0) {
            p = skip_block_comment(p);
        } else if (isspace((unsigned char)*p) || *p == ';') {
            p++;
        } else {
            break;
        }
    }
    piece->text = p;
    while (*p && *p != ';')
        p = skip_one(p);
    piece->size = (size_t)(p - piece->text);
    *at = *p ? p + 1 : p;
    return piece->size > 0;
}
