/*
 * The box: a process that runs the handlers of one or two modules, and from which nothing leaves.
 *
 * Data flow: pgflowctl forks the box before it connects to the database. The box closes every
 * descriptor but one socket, wipes its environment, puts up its walls (box_walls.h), reads the
 * modules and sends their descriptors. Then it is a pool of real runners (pool/pool.h) that takes
 * tasks from the socket and answers each. The database connection is in the parent alone. The box
 * ends when the socket does, and its runners with it: it is the first process of its namespace.
 */
#ifndef PGFLOW_CTL_REPLAY_BOX_H
#define PGFLOW_CTL_REPLAY_BOX_H

#include "base/buf.h"
#include "base/error.h"
#include "ctl/replay/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct box_config {
    const char *modules[BOX_MODULES]; /* paths as given */
    size_t count;
    uint32_t concurrency;
    size_t memory_mib;
    bool unconfined; /* without walls */
    bool measures;   /* memory of the runner behind each task */
    char *secret;    /* --database: wiped in the box; or NULL */
};

struct box {
    int fd;
    pid_t pid;
    struct buf in, out;
    size_t sent, taken;
};

/* Starts it; what it could not do comes as its first answer. */
bool box_open(struct box *box, const struct box_config *config, struct error *error) MUST_CHECK;
void box_close(struct box *box);

/* Queued; box_pump sends. */
void box_send(struct box *box, const struct box_task *task, const char *input,
              const char *flow_input);
/* Sends and receives what can be, at most `ms` later. */
bool box_pump(struct box *box, int ms, struct error *error) MUST_CHECK;
/* True: an answer; `text` is borrowed until the next box_pump. BOX_FAILED never comes out: it is
 * the error of box_pump. */
bool box_next(struct box *box, struct box_answer *answer, const char **text);

/* Within the box: serves the socket until it ends. */
bool box_serve(int fd, const struct box_config *config, int runner_program,
               struct error *error) MUST_CHECK;

#endif
