/*
 * The readiness and watchdog protocol of systemd (sd_notify(3)) without its library: one datagram a
 * message to the socket that $NOTIFY_SOCKET names. Without that variable nothing happens; a message
 * that cannot be sent is dropped, as sd_notify does.
 */
#include "worker/worker_private.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_systemd(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */

    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    (void)close(fd);
}

/* Fed from the loop: a loop that hangs feeds nothing. */
static void feed(uv_timer_t *timer)
{
    (void)timer;
    notify_systemd("WATCHDOG=1");
}

void notify_systemd_start_watchdog(struct worker *worker)
{
    const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t ms = interval != NULL ? strtoull(interval, NULL, 10) / 2000 : 0;

    if (ms == 0 || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return;
    (void)uv_timer_start(&worker->watchdog, feed, 0, ms);
}
