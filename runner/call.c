/*
 * The services of pgf_call; see call.h and pgflow/module.h.
 */
#include "runner/call.h"

#include "base/clock.h"
#include "base/text.h"

#include <string.h>

enum { OUTPUT_KEEP = 1024 * 1024, DAY_S = 86400 };

static struct call *call_of(const pgf_call *abi)
{
    return abi->ctx;
}

static int32_t call_write(const pgf_call *abi, const char *json, size_t len)
{
    struct call *call = call_of(abi);

    if (len > call->output.maximum - call->output.size)
        call->over_limit = true;
    if (call->over_limit)
        return 1;
    buf_put(&call->output, json, len);
    return buf_ok(&call->output) ? 0 : 1;
}

static void call_set_error(const pgf_call *abi, const char *text, size_t len)
{
    struct call *call = call_of(abi);

    call->error_size = text_clean(call->error, sizeof call->error, text, len);
}

static void call_retry_after(const pgf_call *abi, uint32_t seconds)
{
    call_of(abi)->retry_after_s = seconds > DAY_S ? DAY_S : seconds;
}

static void *call_alloc(const pgf_call *abi, size_t size)
{
    return arena_alloc(&call_of(abi)->arena, size);
}

static int32_t call_is_cancelled(const pgf_call *abi)
{
    const struct call *call = call_of(abi);

    return atomic_load_explicit(&call->page->cancelled, memory_order_relaxed) == call->number;
}

void call_init(struct call *call, const struct cancel_page *page, const pgf_host *host,
               size_t max_payload)
{
    *call = (struct call){.page = page};
    call->abi = (pgf_call){.struct_size = sizeof call->abi,
                           .ctx = call,
                           .host = host,
                           .write = call_write,
                           .set_error = call_set_error,
                           .retry_after = call_retry_after,
                           .alloc = call_alloc,
                           .is_cancelled = call_is_cancelled};
    buf_init(&call->output, max_payload);
    call_end(call);
}

void call_finish(struct call *call)
{
    buf_free(&call->output);
    arena_finish(&call->arena);
}

static uint64_t deadline_after(uint64_t timeout_ms)
{
    return timeout_ms == 0 ? 0 : clock_steady_ns() + timeout_ms * NS_PER_MS;
}

void call_begin(struct call *call, uint64_t number, const struct frame_task *task,
                const char *input, const char *flow_input)
{
    pgf_call *abi = &call->abi;

    call->number = number;
    abi->attempt = task->attempt;
    abi->max_attempts = task->max_attempts;
    abi->task_index = task->task_index;
    abi->msg_id = task->msg_id;
    abi->run_id = (pgf_str){.ptr = task->run_id, .len = strlen(task->run_id)};
    abi->input = (pgf_str){.ptr = input, .len = task->input_size};
    abi->flow_input = (pgf_str){.ptr = flow_input, .len = task->flow_input_size};
    abi->deadline_ns = deadline_after(task->timeout_ms);
}

void call_end(struct call *call)
{
    if (call->output.capacity > OUTPUT_KEEP)
        buf_free(&call->output);
    else
        buf_clear(&call->output);
    call->over_limit = false;
    call->error[0] = '\0';
    call->error_size = 0;
    call->retry_after_s = -1;
    arena_reset(&call->arena);
}
