/*
 * The limit on open descriptors (ulimit -n), set before anything is opened: a host that cannot open
 * a socket can neither start runners nor reach its database again.
 */
#include "worker/worker_private.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Standard ones, loop, log, modules, connections, and the number that pgflow-runner is moved to. */
enum { OWN = 128, A_RUNNER = 4, HTTP = LIMIT_HTTP_DESCRIPTORS + 2 };

static rlim_t wanted_descriptors(const struct settings *settings)
{
    size_t runners = (size_t)settings->concurrency + settings->plugins.count;

    return OWN + A_RUNNER * (rlim_t)runners + (settings->metrics_listen != NULL ? HTTP : 0);
}

bool descriptors_reserve(struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->settings;
    rlim_t wanted = wanted_descriptors(settings);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return error_set(error, ERROR_INTERNAL, "getrlimit: %s", strerror(errno));
    if (limit.rlim_cur >= wanted)
        return true;
    if (limit.rlim_max < wanted)
        return error_set(error, ERROR_CONFIG,
                         "--concurrency %d with %zu modules needs %llu open descriptors, the hard "
                         "limit is %llu: raise it (ulimit -Hn, LimitNOFILE=), or give a smaller "
                         "--concurrency",
                         settings->concurrency, settings->plugins.count, (unsigned long long)wanted,
                         (unsigned long long)limit.rlim_max);
    /* A handler that calls select() relies on a low limit: it keeps the one that we came with. */
    worker->handler_files = limit.rlim_cur;
    limit.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ||
           error_set(error, ERROR_CONFIG, "cannot raise the limit on open descriptors to %llu: %s",
                     (unsigned long long)wanted, strerror(errno));
}
