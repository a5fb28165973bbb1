/*
 * SIGTERM, SIGINT and SIGHUP stop in two stages; SIGUSR1 logs the state. A SIGHUP that the host was
 * started without stays ignored: that is what nohup(1) is for.
 */
#include "worker/worker_private.h"

#include <signal.h>

static void on_stop(uv_signal_t *handle, int number)
{
    drain_on_signal(handle->data, number);
}

static void on_state(uv_signal_t *handle, int number)
{
    (void)number;
    state_log(handle->data);
}

static bool is_ignored(int number)
{
    struct sigaction now;

    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

bool signals_open(struct worker *worker, struct error *error)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uv_signal_t *handle = &worker->signals[i];
        int failed = uv_signal_init(&worker->loop, handle);

        handle->data = worker;
        if (failed == 0 && numbers[i] == SIGHUP && is_ignored(SIGHUP))
            continue;
        if (failed == 0)
            failed =
                uv_signal_start(handle, numbers[i] == SIGUSR1 ? on_state : on_stop, numbers[i]);
        if (failed != 0)
            return error_set(error, ERROR_INTERNAL, "cannot watch signal %d: %s", numbers[i],
                             uv_strerror(failed));
    }
    return true;
}
