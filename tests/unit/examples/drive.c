#include "drive.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void keep_log(const pgf_host *host, int32_t level, const char *text, size_t len)
{
    struct drive *drive = host->ctx;
    (void)level;
    buf_clear(&drive->log);
    buf_put(&drive->log, text, len);
}

static const void *no_extension(const pgf_host *host, const char *id)
{
    (void)host;
    (void)id;
    return NULL;
}

static int32_t take_output(const pgf_call *call, const char *json, size_t len)
{
    struct drive *drive = call->ctx;
    if (drive->output.size + len > drive->write_limit)
        return 1;
    buf_put(&drive->output, json, len);
    return 0;
}

static void take_error(const pgf_call *call, const char *text, size_t len)
{
    struct drive *drive = call->ctx;
    buf_clear(&drive->error);
    buf_put(&drive->error, text, len);
}

static void take_retry(const pgf_call *call, uint32_t seconds)
{
    ((struct drive *)call->ctx)->retry_after = seconds;
}

static void *give_scratch(const pgf_call *call, size_t size)
{
    struct drive *drive = call->ctx;
    free(drive->scratch);
    drive->scratch = malloc(size);
    return drive->scratch;
}

static int32_t is_cancelled(const pgf_call *call)
{
    return ((struct drive *)call->ctx)->cancelled;
}

bool drive_try_open(struct drive *drive, const char *path)
{
    memset(drive, 0, sizeof *drive);
    buf_init(&drive->output, 1 << 26);
    buf_init(&drive->error, 1 << 20);
    buf_init(&drive->log, 1 << 20);
    drive->host = (pgf_host){.struct_size = sizeof drive->host,
                             .ctx = drive,
                             .log = keep_log,
                             .extension = no_extension};
    drive->write_limit = 1 << 24;
    drive->attempt = 1;
    drive->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(drive->library, "%s", dlerror());
    drive->module = dlsym(drive->library, "pgflow_module_v1");
    cr_assert_not_null(drive->module, "%s", dlerror());
    return drive->module->init == NULL || drive->module->init(&drive->host, &drive->state) == 0;
}

void drive_open(struct drive *drive, const char *path)
{
    cr_assert(drive_try_open(drive, path), "init: %s", drive->log.data);
}

void drive_close(struct drive *drive)
{
    if (drive->module->fini != NULL)
        drive->module->fini(drive->state);
    buf_free(&drive->output);
    buf_free(&drive->error);
    buf_free(&drive->log);
    free(drive->scratch);
    dlclose(drive->library);
}

static const pgf_step *find_step(const struct drive *drive, const char *slug)
{
    const char *at = (const char *)drive->module->steps;
    for (uint32_t i = 0; i < drive->module->n_steps; i++, at += drive->module->step_size)
        if (strcmp(((const pgf_step *)at)->slug, slug) == 0)
            return (const pgf_step *)at;
    cr_assert_fail("no step %s", slug);
    return NULL;
}

int32_t drive_run(struct drive *drive, const char *step, const char *input, const char *flow_input)
{
    static const char run_id[] = "00000000-0000-4000-8000-000000000001";
    const char *flow = drive->module->flow_slug;
    pgf_call call = {.struct_size = sizeof call,
                     .attempt = drive->attempt,
                     .ctx = drive,
                     .host = &drive->host,
                     .flow_slug = {flow, strlen(flow)},
                     .step_slug = {step, strlen(step)},
                     .run_id = {run_id, sizeof run_id - 1},
                     .msg_id = 1,
                     .max_attempts = 3,
                     .input = {input, strlen(input)},
                     .write = take_output,
                     .set_error = take_error,
                     .retry_after = take_retry,
                     .alloc = give_scratch,
                     .is_cancelled = is_cancelled};
    if (flow_input != NULL)
        call.flow_input = (pgf_str){flow_input, strlen(flow_input)};
    buf_clear(&drive->output);
    buf_clear(&drive->error);
    drive->retry_after = -1;
    return find_step(drive, step)->run(drive->state, &call);
}
