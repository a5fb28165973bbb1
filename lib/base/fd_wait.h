/*
 * Waiting for one descriptor.
 */
#ifndef PGFLOW_BASE_FD_WAIT_H
#define PGFLOW_BASE_FD_WAIT_H

/*
 * Returns when the descriptor is ready for `event` (POLLIN, POLLOUT), has failed or has lost its
 * other end; the call that is then repeated says which. For descriptors that are meant to block
 * and that somebody else may have made non-blocking.
 */
void fd_wait(int fd, short event);

#endif
