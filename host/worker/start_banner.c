/*
 * What a host that begins to work is: one queue, its concrete flows and how each stands in the
 * database.
 */
#include "worker/worker_private.h"

#include "base/buf.h"
#include "db/address.h"
#include "observe/banner.h"

static void put_steps(struct buf *text, const struct deployment *deployment, bool served)
{
    for (size_t i = 0; i < deployment->step_count; i++) {
        const struct deployment_step *step = &deployment->steps[i];
        if (step->served != served)
            continue;
        buf_printf(text, "%s%s", text->size == 0 ? "" : ", ", step->slug);
        if (!served)
            buf_printf(text, " (%s)", step->queue);
    }
}

static void show_flow(const struct worker *worker, const struct worker_module *module)
{
    const struct deployment *deployment = module->deployment;
    struct buf here, elsewhere;

    buf_init(&here, LIMIT_LOG_VALUE / 2);
    buf_init(&elsewhere, LIMIT_LOG_VALUE / 2);
    put_steps(&here, deployment, true);
    put_steps(&elsewhere, deployment, false);
    banner_show_flow(&(struct banner_flow){.queue = worker->queue,
                                           .flow = deployment->flow,
                                           .version = deployment->version,
                                           .alias = deployment->alias,
                                           .active_flow = module->active_flow,
                                           .compilation = module->compilation,
                                           .activation = module->activation,
                                           .operator_switches = activation_is_left(worker, module),
                                           .suspended = module->suspended,
                                           .queue_mode = queue_mode_name(deployment->mode),
                                           .steps_here = here.data,
                                           .steps_elsewhere = elsewhere.data,
                                           .file = deployment->file,
                                           .build_id = deployment->build_id,
                                           .sha256 = deployment->sha256});
    buf_free(&here);
    buf_free(&elsewhere);
}

void start_banner_show(const struct worker *worker)
{
    banner_show_host(&(struct banner_host){
        .version = PGFLOW_VERSION,
        .queue = worker->queue,
        .function = worker->function,
        .worker_id = worker->identity.id[0] != '\0' ? worker->identity.id : NULL,
        .database = db_address_label(worker->address),
        .module_dir = module_store_folder(worker->store),
        .concurrency = worker->settings->concurrency,
        .batch_size = worker->settings->batch_size,
        .listens = !worker->settings->no_listen && !worker->settings->pooled});
    for (size_t i = 0; i < worker->module_count; i++)
        show_flow(worker, &worker->modules[i]);
    banner_end();
}
