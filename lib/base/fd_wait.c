#include "base/fd_wait.h"

#include <poll.h>

void fd_wait(int fd, short event)
{
    struct pollfd ready = {.fd = fd, .events = event};

    (void)poll(&ready, 1, -1);
}
