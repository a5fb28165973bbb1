/*
 * Hiding of credentials; see secrets.h.
 */
#include "base/secrets.h"

#include <stddef.h>
#include <string.h>

/* What our own advice says. */
static const char example[] = "postgres://USER:PASSWORD@HOST:PORT/DATABASE";
static const char password[] = "password=";
enum { STARS = 3 };

static bool ends_with(const char *begin, const char *end, const char *word)
{
    size_t size = strlen(word);

    return (size_t)(end - begin) >= size && strncmp(end - size, word, size) == 0;
}

/* The end of a URL that goes on behind "://". A password may hold blanks and quotes, so with a user
 * it is looked for behind the last at sign. */
static const char *end_of_url(const char *rest)
{
    const char *at = strrchr(rest, '@');

    if (at != NULL)
        rest = at;
    rest += strcspn(rest, " \t\n'\",");
    while (strchr(":;.)", rest[-1]) != NULL) /* of the sentence that it stands in */
        rest--;
    return rest;
}

/* At a "://": is something behind it to be hidden? */
static bool is_secret_url(const char *text, const char *colon)
{
    const char *rest = colon + strlen("://");

    if (ends_with(text, rest, "postgres://") &&
        strncmp(rest - strlen("postgres://"), example, strlen(example)) == 0)
        return false;
    return *rest != '\0' && (strchr(rest, '@') != NULL || ends_with(text, colon, "postgres") ||
                             ends_with(text, colon, "postgresql"));
}

static const char *find_url(const char *text, const char *from)
{
    const char *colon = from;

    while ((colon = strstr(colon, "://")) != NULL && !is_secret_url(text, colon))
        colon += strlen("://");
    return colon;
}

/* The value that begins at `value`, in quotes or up to a blank. */
static const char *end_of_value(const char *value)
{
    const char *end = value + (*value == '\'');

    if (*value != '\'')
        return value + strcspn(value, " \t\n'\"&");
    while (*end != '\0' && *end != '\'')
        end += *end == '\\' && end[1] != '\0' ? 2 : 1;
    return end;
}

/* Stars for [begin, end); gives where the text goes on. */
static char *cover(char *begin, const char *end)
{
    size_t size = (size_t)(end - begin);
    size_t covered = size < STARS ? size : STARS;

    memset(begin, '*', covered);
    memmove(begin + covered, end, strlen(end) + 1);
    return begin + covered;
}

bool secrets_look(const char *text)
{
    const char *value = strstr(text, password);

    return find_url(text, text) != NULL || (value != NULL && value[strlen(password)] != '\0');
}

void secrets_hide(char *text)
{
    char *at = text;
    const char *found;

    while ((found = find_url(text, at)) != NULL) {
        at = text + (found - text) + strlen("://");
        at = cover(at, end_of_url(at));
    }
    for (at = text; (found = strstr(at, password)) != NULL;) {
        at = text + (found - text) + strlen(password);
        at = cover(at, end_of_value(at));
    }
}
