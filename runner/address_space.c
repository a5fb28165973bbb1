/*
 * The size of this process; see address_space.h.
 */
#include "runner/address_space.h"

#include <fcntl.h>
#include <unistd.h>

static int statm_fd = -1;
static uint64_t page_size = 4096;

void address_space_open(void)
{
    statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    page_size = (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t address_space_size(void)
{
    char text[32];
    ssize_t size = pread(statm_fd, text, sizeof text, 0);
    uint64_t pages = 0;

    for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    return pages * page_size;
}
