/*
 * Looking again and again; see watch.h.
 */
#include "ctl/watch.h"

#include "ctl/command.h"
#include "ctl/query.h"
#include "db/sync.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 2000 };

/* Home, then everything below: what is redrawn does not flicker. */
static void begin_screen(const char *title)
{
    char when[32] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL)
        (void)strftime(when, sizeof when, "%H:%M:%S", &local);
    printf("\x1b[H\x1b[2J%s  %s\n\n", title, when);
}

int watch_print(struct invocation *invocation, const struct query_print *print,
                const char *const *values, size_t count, struct error *error)
{
    bool again = invocation_value(invocation, "watch") != NULL;
    bool screen = again && !invocation->json && isatty(STDOUT_FILENO) == 1;
    for (;;) {
        if (screen)
            begin_screen(invocation->command->name);
        bool printed = query_print(invocation->db, invocation->json, print, values, count, error);
        if (!again || (!printed && error->code != ERROR_UNAVAILABLE))
            return printed ? DONE : FAILED;
        if (!printed)
            fprintf(stderr, "pgflowctl: %s; trying again\n", error->text);
        else if (!screen && !invocation->json)
            printf("\n");
        /* Nobody reads any more: stop, as the end of a pipe should. */
        if (fflush(stdout) != 0)
            return DONE;
        (void)db_sync_wait(invocation->db, PAUSE_MS);
    }
}
