/*
 * Asking before something is done; see confirm.h.
 */
#include "ctl/confirm.h"

#include "ctl/command.h"

#include <stdio.h>
#include <strings.h>
#include <unistd.h>

bool confirm(const struct invocation *invocation, const char *question, struct error *error)
{
    char answer[16] = "";
    if (invocation_value(invocation, "yes") != NULL)
        return true;
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return error_set(error, ERROR_USAGE,
                         "%s Nobody can be asked here: give --yes, or --dry-run to see what it "
                         "would be",
                         question);

    fprintf(stderr, "%s [y/N] ", question);
    (void)fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) != NULL &&
        (strcasecmp(answer, "y\n") == 0 || strcasecmp(answer, "yes\n") == 0))
        return true;
    return error_set(error, ERROR_ANSWER_NO, "not confirmed: nothing was done");
}
