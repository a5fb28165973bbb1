/*
 * The kernel's count of processes that it ended for want of memory.
 */
#include "base/oom_kills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t oom_kills(void)
{
    static const char name[] = "oom_kill ";
    char line[128];
    int64_t count = -1;
    FILE *file = fopen("/proc/vmstat", "re");

    if (file == NULL)
        return -1;
    while (count < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, sizeof name - 1) == 0)
            count = strtoll(line + sizeof name - 1, NULL, 10);
    (void)fclose(file);
    return count;
}
