/*
 * Stands beside a copy of pgflow-host as its pgflow-runner, and runs the real one under valgrind.
 * The host executes its runner from a descriptor, which valgrind cannot follow; this program goes
 * on by path. What valgrind finds goes to TMPDIR/runner-<pid>.valgrind: TMPDIR is one of the
 * variables that a runner has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *const valgrind[] = {
    "valgrind",
    "--quiet",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
    "--show-leak-kinds=definite",
    "--log-file=%q{TMPDIR}/runner-%p.valgrind",
    /* A child that a handler forks has the parent's blocks, and frees none. */
    "--child-silent-after-fork=yes",
    REAL_RUNNER,
};

enum { VALGRIND_ARGUMENTS = sizeof valgrind / sizeof valgrind[0] };

int main(int argc, char **argv)
{
    char **arguments = calloc((size_t)argc + VALGRIND_ARGUMENTS, sizeof *arguments);

    if (arguments == NULL)
        return 1;
    for (int i = 0; i < VALGRIND_ARGUMENTS; i++)
        arguments[i] = valgrind[i];
    for (int i = 1; i < argc; i++)
        arguments[VALGRIND_ARGUMENTS + i - 1] = argv[i];
    execvp(valgrind[0], arguments);
    perror("valgrind");
    return 127;
}
