/*
 * Reading numbers from the text files of /proc, without scanf.
 */
#include "base/proc_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n";

bool proc_take_number(const char **text, int base, unsigned long long *value)
{
    const char *begin = *text + strspn(*text, blanks);
    char *end = NULL;

    if (*begin == '-' || *begin == '+')
        return false;
    errno = 0;
    *value = strtoull(begin, &end, base);
    if (end == begin || errno != 0)
        return false;
    *text = end;
    return true;
}

bool proc_skip_word(const char **text)
{
    const char *word = *text + strspn(*text, blanks);
    size_t size = strcspn(word, blanks);

    *text = word + size;
    return size > 0;
}

bool proc_stat_number(const char *text, int number, unsigned long long *value)
{
    const char *place = strrchr(text, ')');

    if (place == NULL)
        return false;
    place++;
    for (int field = 3; field < number; field++)
        if (!proc_skip_word(&place))
            return false;
    return proc_take_number(&place, 10, value);
}
