/*
 * pgflow-runner: one flow module in one process. It has no database connection
 * and no credentials, links libc only, and sees lib/base and lib/wire.
 */
#include "runner/inspect.h"
#include "runner/serve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#ifdef PGFLOW_SANITIZED
/* Faults of a handler must look as they do without a sanitizer: the crash note
 * needs the signals and its own stack, and modules may leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
           "use_sigaltstack=0:allocator_may_return_null=1:detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
    struct runner_options options;
    struct error error = {0};

    /* Executed from a descriptor, the name would be its number. */
    (void)prctl(PR_SET_NAME, "pgflow-runner", 0, 0, 0);
    if (!runner_options_parse(&options, argc, argv, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return error.code;
    }
    if (options.help) {
        runner_options_print_help();
        return fflush(stdout) == 0 ? 0 : ERROR_INTERNAL;
    }
    if (options.mode == RUNNER_INSPECT)
        return inspect_module(&options);
    if (fcntl(RUNNER_FD_SOCKET, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(RUNNER_FD_PAGE, F_SETFD, FD_CLOEXEC) != 0) {
        fprintf(stderr, "--run: descriptors %d and %d are not open; pgflow-host opens them\n",
                RUNNER_FD_SOCKET, RUNNER_FD_PAGE);
        return ERROR_USAGE;
    }
    return serve_module(&options);
}
