#include "runner/descriptor_probe.h"
#include "base/proc_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Every page of any page size ends on such a border, so a piece that crosses none
 * is readable as a whole or not at all. */
enum { SMALLEST_PAGE = 4096 };

/* Most texts are slugs: do not copy a page for each. */
enum { TEXT_PIECE = 256 };

static enum probe_result copy_piece(uintptr_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)address, size}; /* NOLINT(performance-no-int-to-ptr) */
    ssize_t copied = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (copied == (ssize_t)size)
        return PROBE_OK;
    return copied < 0 && errno != EFAULT ? PROBE_REFUSED : PROBE_UNREADABLE;
}

/* Each line of the file begins with "7f0c1000-7f0c2000 r-xp". */
enum probe_result probe_code(uintptr_t address)
{
    enum probe_result result = PROBE_UNREADABLE;
    unsigned long long begin, end;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");

    if (maps == NULL)
        return PROBE_REFUSED;
    while (fgets(line, sizeof line, maps) != NULL) {
        const char *place = line;

        if (!proc_take_number(&place, 16, &begin) || *place++ != '-' ||
            !proc_take_number(&place, 16, &end) || address < begin || address >= end)
            continue;
        if (strncmp(place, " r-x", 4) == 0 || strncmp(place, " rwx", 4) == 0 ||
            strncmp(place, " --x", 4) == 0)
            result = PROBE_OK;
        break;
    }
    (void)fclose(maps);
    return result;
}

static size_t up_to_border(uintptr_t address, size_t size)
{
    size_t rest = SMALLEST_PAGE - address % SMALLEST_PAGE;
    return size < rest ? size : rest;
}

enum probe_result probe_bytes(uintptr_t address, void *out, size_t size)
{
    char *at = out;
    if (address > UINTPTR_MAX - size)
        return PROBE_UNREADABLE;
    while (size > 0) {
        size_t piece = up_to_border(address, size);
        enum probe_result result = copy_piece(address, at, piece);
        if (result != PROBE_OK)
            return result;
        address += piece;
        at += piece;
        size -= piece;
    }
    return PROBE_OK;
}

enum probe_result probe_text(uintptr_t address, char *out, size_t limit, size_t *size)
{
    *size = 0;
    while (*size <= limit) {
        size_t rest = limit + 1 - *size;
        size_t piece = up_to_border(address + *size, rest < TEXT_PIECE ? rest : TEXT_PIECE);
        enum probe_result result = probe_bytes(address + *size, out + *size, piece);
        if (result != PROBE_OK)
            return result;
        const char *end = memchr(out + *size, '\0', piece);
        if (end != NULL) {
            *size = (size_t)(end - out);
            return PROBE_OK;
        }
        *size += piece;
    }
    return PROBE_TOO_LONG;
}
