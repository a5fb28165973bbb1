/*
 * The name of a signal.
 */
#include "base/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *signal_name(int number)
{
    static char name[32];
    const char *abbreviation = sigabbrev_np(number);

    if (abbreviation != NULL)
        snprintf(name, sizeof name, "SIG%s", abbreviation);
    else
        snprintf(name, sizeof name, "signal %d", number);
    return name;
}
