/*
 * Preloaded into pgflow-host by test_injection.py: lets one call of one function
 * fail as that function may. PGFLOW_FAULT, which this takes out of the
 * environment, is "FUNCTION:N:FILE": the N-th call fails, and FILE is made then,
 * so that the test knows whether there are that many. Of malloc and its
 * relatives only calls from our program and from libpq count: libuv and
 * OpenSSL end the process without memory, whoever uses them. "claim" is malloc
 * from the moment when a claim was sent.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct range {
    uintptr_t begin, end;
};

static char function[64];
static char hit_file[512];
static long countdown; /* 0: nothing fails any more */
static struct range counted[2];
static int counted_count;
static bool claim_was_sent;

static int add_range(struct dl_phdr_info *info, size_t size, void *first)
{
    bool *is_first = first;
    bool wanted = *is_first || strstr(info->dlpi_name, "libpq.so") != NULL;
    (void)size;
    *is_first = false;
    for (int i = 0; wanted && counted_count < 2 && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        counted[counted_count++] = (struct range){begin, begin + part->p_memsz};
    }
    return 0;
}

__attribute__((constructor)) static void read_fault(void)
{
    const char *fault = getenv("PGFLOW_FAULT");
    bool first = true;
    long n = 0;
    if (fault == NULL || sscanf(fault, "%63[^:]:%ld:%511s", function, &n, hit_file) != 3)
        return;
    (void)unsetenv("PGFLOW_FAULT");
    (void)unsetenv("LD_PRELOAD");
    dl_iterate_phdr(add_range, &first);
    countdown = n;
}

/* Is this call the one? */
static bool fails(const char *name)
{
    if (countdown == 0 || strcmp(name, function) != 0 || --countdown > 0)
        return false;
    int fd = open(hit_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    return true;
}

static bool allocation_fails(const void *caller)
{
    if (strcmp(function, "claim") == 0 && !claim_was_sent)
        return false;
    for (int i = 0; countdown > 0 && i < counted_count; i++)
        if ((uintptr_t)caller >= counted[i].begin && (uintptr_t)caller < counted[i].end)
            return fails(claim_was_sent ? function : "malloc");
    return false;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define CALLER __builtin_return_address(0)

/* ---- Memory. glibc's own names, because dlsym allocates; the sanitizer's where the host is built
 * with one, for what it gives it must take back. Its dlsym allocates from a place of its own. ----
 */

#ifdef PGFLOW_SANITIZED
void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t count, size_t size);
void *__interceptor_realloc(void *old, size_t size);
#define REAL_MALLOC __interceptor_malloc
#define REAL_CALLOC __interceptor_calloc
#define REAL_REALLOC __interceptor_realloc
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
#define REAL_MALLOC __libc_malloc
#define REAL_CALLOC __libc_calloc
#define REAL_REALLOC __libc_realloc
#endif

void *malloc(size_t size)
{
    return allocation_fails(CALLER) ? NULL : REAL_MALLOC(size);
}

void *calloc(size_t count, size_t size)
{
    return allocation_fails(CALLER) ? NULL : REAL_CALLOC(count, size);
}

void *realloc(void *old, size_t size)
{
    return allocation_fails(CALLER) ? NULL : REAL_REALLOC(old, size);
}

char *strndup(const char *text, size_t most)
{
    size_t size = strnlen(text, most);
    char *copy = allocation_fails(CALLER) ? NULL : REAL_MALLOC(size + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = allocation_fails(CALLER) ? NULL : REAL_MALLOC(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* ---- libpq ---- */

#define FAIL_PQ(result, name, parameters, arguments, failure)                                      \
    result name parameters                                                                         \
    {                                                                                              \
        return fails(#name) ? (failure) : REAL(name) arguments;                                    \
    }

FAIL_PQ(PQconninfoOption *, PQconninfoParse, (const char *info, char **message), (info, message),
        NULL)
FAIL_PQ(PQconninfoOption *, PQconndefaults, (void), (), NULL)
FAIL_PQ(PGconn *, PQconnectStartParams,
        (const char *const *names, const char *const *values, int expand), (names, values, expand),
        NULL)
FAIL_PQ(PostgresPollingStatusType, PQconnectPoll, (PGconn * conn), (conn), PGRES_POLLING_FAILED)
FAIL_PQ(int, PQsetnonblocking, (PGconn * conn, int on), (conn, on), -1)
FAIL_PQ(int, PQenterPipelineMode, (PGconn * conn), (conn), 0)
FAIL_PQ(int, PQsendPrepare,
        (PGconn * conn, const char *name, const char *sql, int count, const Oid *types),
        (conn, name, sql, count, types), 0)
FAIL_PQ(int, PQsendQueryParams,
        (PGconn * conn, const char *sql, int count, const Oid *types, const char *const *values,
         const int *lengths, const int *formats, int format),
        (conn, sql, count, types, values, lengths, formats, format), 0)
FAIL_PQ(int, PQpipelineSync, (PGconn * conn), (conn), 0)
FAIL_PQ(int, PQflush, (PGconn * conn), (conn), -1)
FAIL_PQ(int, PQconsumeInput, (PGconn * conn), (conn), 0)

int PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                        const int *lengths, const int *formats, int format)
{
    int sent = fails("PQsendQueryPrepared")
                   ? 0
                   : REAL(PQsendQueryPrepared)(conn, name, count, values, lengths, formats, format);
    claim_was_sent |= sent == 1 && strstr(name, "read_and_claim_tasks") != NULL;
    return sent;
}

/* "PQgetResult" keeps a result for the next call, "result_error" has an error of
 * libpq's own in its place. */
PGresult *PQgetResult(PGconn *conn)
{
    PGresult *result = fails("PQgetResult") ? NULL : REAL(PQgetResult)(conn);
    if (result == NULL || PQresultStatus(result) == PGRES_PIPELINE_SYNC || !fails("result_error"))
        return result;
    PQclear(result);
    return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
}
