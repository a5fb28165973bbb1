#include "observe/banner.h"

#include <unistd.h>

#include "base/buf.h"
#include "log/log.h"

enum { BLOCK_MAX = 16 * 1024 };

static void write_block(struct buf *text)
{
    const char *at = text->data;
    size_t left = text->size;

    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, at, left);
        if (written <= 0)
            break; /* a banner is not worth waiting for */
        at += written;
        left -= (size_t)written;
    }
    buf_free(text);
}

static bool is_pretty(void)
{
    return log_format_used() == LOG_FORMAT_PRETTY;
}

static void show_pretty_host(const struct banner_host *host)
{
    struct buf text;

    buf_init(&text, BLOCK_MAX);
    buf_printf(&text, "\n  pgflow-host %s\n\n", host->version);
    buf_printf(&text, "  queue      %s\n", host->queue);
    buf_printf(&text, "  function   %s\n", host->function);
    if (host->worker_id != NULL)
        buf_printf(&text, "  worker     %s\n", host->worker_id);
    buf_printf(&text, "  database   %s%s\n", host->database,
               host->listens ? "" : " (polling only)");
    buf_printf(&text, "  handlers   %d at once, claims of up to %d\n", host->concurrency,
               host->batch_size);
    if (host->module_dir != NULL)
        buf_printf(&text, "  modules    copies for debuggers in %s\n", host->module_dir);
    write_block(&text);
}

static void show_host_event(const struct banner_host *host)
{
    log_info("host", "pgflow-host", LOG_QUEUE(host->queue), LOG_WORKER(host->worker_id),
             LOG_FIELD_TEXT("function", host->function), LOG_FIELD_TEXT("version", host->version),
             LOG_FIELD_TEXT("database", host->database),
             LOG_FIELD_TEXT("module_dir", host->module_dir),
             LOG_FIELD_INT("concurrency", host->concurrency),
             LOG_FIELD_INT("batch_size", host->batch_size),
             LOG_FIELD_BOOL("listens", host->listens), LOG_PID(getpid()));
}

void banner_show_host(const struct banner_host *host)
{
    if (is_pretty())
        show_pretty_host(host);
    else
        show_host_event(host);
}

static void put_activation(struct buf *text, const struct banner_flow *flow)
{
    buf_printf(text, "    alias      %s: ", flow->alias);
    if (flow->active_flow[0] == '\0')
        buf_puts(text, "no version is active");
    else
        buf_printf(text, "%s is active", flow->active_flow);
    buf_printf(text, " (this one: %s", flow->activation);
    if (flow->operator_switches)
        buf_printf(text, "; to switch: pgflowctl activate %s %s", flow->alias, flow->flow);
    buf_puts(text, ")\n");
}

static void show_pretty_flow(const struct banner_flow *flow)
{
    struct buf text;

    buf_init(&text, BLOCK_MAX);
    buf_printf(&text, "\n  %s%s%s\n", flow->flow, flow->version[0] != '\0' ? "  version " : "",
               flow->version);
    buf_printf(&text, "    database   %s\n", flow->compilation);
    put_activation(&text, flow);
    buf_printf(&text, "    steps      %s%s\n", flow->steps_here,
               flow->suspended ? "  SUSPENDED: its runner does not start" : "");
    if (flow->steps_elsewhere[0] != '\0')
        buf_printf(&text, "    elsewhere  %s\n", flow->steps_elsewhere);
    buf_printf(&text, "    routing    %s\n", flow->queue_mode);
    buf_printf(&text, "    file       %s\n", flow->file);
    buf_printf(&text, "    build-id   %s\n", flow->build_id[0] != '\0' ? flow->build_id : "none");
    buf_printf(&text, "    sha256     %s\n", flow->sha256);
    write_block(&text);
}

void banner_show_flow(const struct banner_flow *flow)
{
    if (is_pretty()) {
        show_pretty_flow(flow);
        return;
    }
    log_info(
        "deployment", flow->compilation, LOG_QUEUE(flow->queue), LOG_FLOW(flow->flow),
        LOG_FIELD_TEXT("version", flow->version), LOG_FIELD_TEXT("compilation", flow->compilation),
        LOG_FIELD_TEXT("activation", flow->activation), LOG_FIELD_TEXT("alias", flow->alias),
        LOG_FIELD_TEXT("active_flow", flow->active_flow),
        LOG_FIELD_TEXT("queue_mode", flow->queue_mode), LOG_FIELD_TEXT("steps", flow->steps_here),
        LOG_FIELD_TEXT("steps_elsewhere", flow->steps_elsewhere),
        LOG_FIELD_BOOL("held", flow->suspended), LOG_FIELD_TEXT("file", flow->file),
        LOG_FIELD_TEXT("build_id", flow->build_id), LOG_FIELD_TEXT("sha256", flow->sha256));
}

void banner_end(void)
{
    struct buf text;

    if (!is_pretty())
        return;
    buf_init(&text, 8);
    buf_putc(&text, '\n');
    write_block(&text);
}
