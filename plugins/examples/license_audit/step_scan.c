/* SPDX-License-Identifier: Apache-2.0
 * Reads one copyright file. It may have changed or gone since it was listed: that is a
 * result, not a failure of the audit. */
#include "call_text.h"
#include "recogniser.h"
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <pgflow/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The longest known one has 3 MiB; of a longer one the beginning is read. */
enum { READ_LIMIT = 4 << 20 };

/* Bytes read into text, or -1 and errno. */
static ssize_t read_up_to(int fd, char *text, size_t limit)
{
    size_t size = 0;
    while (size < limit) {
        ssize_t n = read(fd, text + size, limit - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        size += (size_t)n;
    }
    return (ssize_t)size;
}

/* O_NONBLOCK: a pipe that took the file's place must not hold the handler. */
static ssize_t read_file(const char *path, char *text, size_t limit)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    ssize_t size = read_up_to(fd, text, limit);
    int problem = errno;
    (void)close(fd);
    errno = problem;
    return size;
}

static bool is_lasting(int problem)
{
    return problem == ENOENT || problem == EACCES || problem == EPERM || problem == ENOTDIR ||
           problem == EISDIR || problem == ELOOP || problem == ENAMETOOLONG || problem == ENXIO ||
           problem == EAGAIN;
}

static int32_t give_unreadable(const pgf_call *call, const char *package, const char *why)
{
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "package", package);
    cJSON_AddItemToObject(result, "licenses", cJSON_CreateArray());
    cJSON_AddStringToObject(result, "unreadable", why);
    return pgf_json_give(call, result);
}

static int32_t give_licenses(const pgf_call *call, const char *package, const char *text,
                             size_t size)
{
    struct license_set set;
    bool failed = false;
    enum recognised_by by = recognise(&set, text, size, &failed);
    if (failed)
        return call_fail(call, PGF_ERROR, "out of memory");
    if (set.full)
        call_log(call, PGF_LOG_WARN, "%s names more than %d licences", package, LICENSE_SET_SIZE);
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "package", package);
    cJSON *licenses = cJSON_AddArrayToObject(result, "licenses");
    for (size_t i = 0; i < set.count; i++)
        cJSON_AddItemToArray(licenses, cJSON_CreateString(set.names[i]));
    cJSON_AddStringToObject(result, "by", recognised_by_name(by));
    return pgf_json_give(call, result);
}

static int32_t scan_file(const pgf_call *call, const char *package, const char *path)
{
    char *text = malloc(READ_LIMIT);
    if (text == NULL)
        return call_fail(call, PGF_ERROR, "out of memory");
    int32_t answer = PGF_ERROR;
    ssize_t size = read_file(path, text, READ_LIMIT);
    int problem = errno;
    if (size >= 0)
        answer = give_licenses(call, package, text, (size_t)size);
    else if (is_lasting(problem))
        answer = give_unreadable(call, package, strerror(problem));
    else
        answer = call_fail(call, PGF_ERROR, "cannot read '%s': %s", path, strerror(problem));
    free(text);
    return answer;
}

int32_t step_scan(void *state, const pgf_call *call)
{
    (void)state;
    cJSON *element = pgf_json_input(call);
    const char *package = pgf_json_text(element, "package", NULL);
    const char *path = pgf_json_text(element, "file", NULL);
    int32_t answer = package != NULL && path != NULL
                         ? scan_file(call, package, path)
                         : call_fail(call, PGF_PERMANENT,
                                     "not an element of list: it has no "
                                     "\"package\" and \"file\"");
    cJSON_Delete(element);
    return answer;
}
