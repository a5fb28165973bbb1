/*
 * Asking for a yes.
 */
#include "ctl/rollout/driver_ask.h"

#include "ctl/rollout/driver.h"
#include "ctl/rollout/driver_report.h"

#include <stdio.h>
#include <strings.h>
#include <unistd.h>

bool driver_ask(struct driver *driver, const char *step, const char *about, const char *question,
                struct error *error)
{
    char answer[8] = "";
    if (driver->yes)
        return true;
    report_event(&driver->report, step, "ask", about);
    if (isatty(STDIN_FILENO) != 1)
        return error_set(error, ERROR_ANSWER_NO,
                         "%s There is no terminal to ask at; give --yes to agree beforehand",
                         question);
    fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        fprintf(stderr, "\n");
    return strcasecmp(answer, "y\n") == 0 || strcasecmp(answer, "yes\n") == 0 ||
           error_set(error, ERROR_ANSWER_NO, "%s No", question);
}
