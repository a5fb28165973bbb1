/* SPDX-License-Identifier: Apache-2.0
 * Modules that must not get through loading, inspection or init. LOAD_FAULT picks the
 * fault; each is built as a module of its own, named after it (see README.md). */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NO_ENTRY 1
#define WRONG_MAGIC 2
#define WRONG_MAJOR 3
#define NEEDS_MINOR 4
#define BAD_DESCRIPTOR 5
#define CTOR_CRASHES 6
#define CTOR_EXITS 7
#define UNRESOLVED 8
#define INIT_FAILS 9
#define INIT_CRASHES 10
#define INIT_HANGS 11
#define INIT_MOODY 12
#define CTOR_HANGS 13
#define CTOR_PRINTS 14
#define CTOR_FORKS 15
#define INIT_FORKS 16
#define CTOR_SCRIBBLES 17
#define CTOR_ANSWERS 18
#define CTOR_LEAVES 19

#if LOAD_FAULT == CTOR_CRASHES
__attribute__((constructor)) static void before_main(void)
{
    abort();
}
#endif

#if LOAD_FAULT == CTOR_EXITS
__attribute__((constructor)) static void before_main(void)
{
    (void)fputs("constructor: this module does not like the machine\n", stderr);
    exit(0);
}
#endif

#if LOAD_FAULT == CTOR_HANGS
__attribute__((constructor)) static void before_main(void)
{
    while (pause() != 0)
        continue;
}
#endif

/* Leaves a process in a session of its own, and says which. */
#if LOAD_FAULT == CTOR_LEAVES
__attribute__((constructor)) static void before_main(void)
{
    pid_t child = fork();
    if (child != 0) {
        (void)fprintf(stderr, "left %d\n", (int)child);
        exit(1);
    }
    setsid();
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    sleep(600);
    _exit(0);
}
#endif

/* Not a fault: but what it prints must not get into what inspection prints. */
#if LOAD_FAULT == CTOR_PRINTS
__attribute__((constructor)) static void before_main(void)
{
    puts("{\"flowSlug\": \"from the constructor\"}");
    (void)fflush(stdout);
}
#endif

/* Into whatever the runner has open, the pipe for its answer among it. */
#if LOAD_FAULT == CTOR_SCRIBBLES || LOAD_FAULT == CTOR_ANSWERS
__attribute__((constructor)) static void before_main(void)
{
    static const char words[] = "words of a constructor";
    for (int fd = 3; fd < 10; fd++)
        (void)!write(fd, words, sizeof words - 1);
#if LOAD_FAULT == CTOR_ANSWERS
    _exit(1);
#endif
}
#endif

/* Not a fault either: its child comes back as if it were the runner. */
#if LOAD_FAULT == CTOR_FORKS
__attribute__((constructor)) static void before_main(void)
{
    (void)!fork();
}
#endif

#if LOAD_FAULT == UNRESOLVED
int32_t pgf_test_symbol_that_nobody_has(void);
#endif

#if LOAD_FAULT == INIT_FAILS
static int32_t start(const pgf_host *host, void **state)
{
    static const char first[] = "init: opening the dictionary";
    static const char last[] = "init: dictionary /nonexistent/words is missing";
    (void)state;
    host->log(host, PGF_LOG_INFO, first, sizeof first - 1);
    host->log(host, PGF_LOG_ERROR, last, sizeof last - 1);
    return 7;
}
#elif LOAD_FAULT == INIT_CRASHES
static int32_t start(const pgf_host *host, void **state)
{
    (void)host;
    (void)state;
    abort();
}
#elif LOAD_FAULT == INIT_FORKS
static int32_t start(const pgf_host *host, void **state)
{
    (void)host;
    (void)state;
    return fork() < 0;
}
#elif LOAD_FAULT == INIT_HANGS
static int32_t start(const pgf_host *host, void **state)
{
    (void)host;
    (void)state;
    while (pause() != 0)
        continue;
    return 0;
}
#elif LOAD_FAULT == INIT_MOODY
/* Dies before READY while the file named by the environment variable MOODY_FILE (hand it
 * on with --pass-env) exists. */
static int32_t start(const pgf_host *host, void **state)
{
    const char *path = getenv("MOODY_FILE");
    (void)host;
    (void)state;
    if (path != NULL && access(path, F_OK) == 0)
        abort();
    return 0;
}
#else
#define start NULL
#endif

#if LOAD_FAULT != NO_ENTRY
static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
#if LOAD_FAULT == UNRESOLVED
    return pgf_test_symbol_that_nobody_has();
#else
    return PGF_OK;
#endif
}

#if LOAD_FAULT == BAD_DESCRIPTOR
#define STEP_SLUG "not a slug"
#else
#define STEP_SLUG "only"
#endif

static const pgf_step steps[] = {{.slug = STEP_SLUG, .run = run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
#if LOAD_FAULT == WRONG_MAGIC
    0x21212121,
    PGF_ABI_MAJOR,
    PGF_ABI_MINOR,
    (uint32_t)sizeof(pgf_module),
#elif LOAD_FAULT == WRONG_MAJOR
    PGF_MAGIC,
    PGF_ABI_MAJOR + 1,
    3,
    (uint32_t)sizeof(pgf_module),
#else
    PGF_MODULE_HEADER,
#endif
#if LOAD_FAULT == NEEDS_MINOR
    .needs_minor = 99,
#endif
    .flow_slug = FLOW_SLUG,
    .steps = PGF_ARRAY(steps),
    .init = start};
#endif
