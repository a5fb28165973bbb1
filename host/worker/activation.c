/*
 * With --activate auto: offers the last-given module of each alias for activation, after
 * registering, and again at heartbeats while the database answers that it waits: for a queue that
 * is not covered yet, or for an operator, because the login of this host is none. One offer at a
 * time. With --activate manual nothing is offered; the log says how an operator switches.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "log/log.h"

bool activation_is_left(const struct worker *worker, const struct worker_module *module)
{
    return worker->settings->activate == ACTIVATE_MANUAL && module->deployment->last_of_alias &&
           strcmp(module->activation, "inactive") == 0;
}

static void report_left(const struct worker *worker, const struct worker_module *module)
{
    const struct deployment *deployment = module->deployment;
    struct buf text;

    buf_init(&text, LIMIT_LOG_VALUE);
    buf_printf(&text, "pgflowctl activate %s %s", deployment->alias, deployment->flow);
    log_info("activation_waits",
             "not active: new runs of the alias start another version, and an operator switches",
             LOG_QUEUE(worker->queue), LOG_FLOW(deployment->flow),
             LOG_FIELD_TEXT("alias", deployment->alias),
             LOG_FIELD_TEXT("active_flow", module->active_flow),
             LOG_FIELD_TEXT("to_switch", text.data));
    buf_free(&text);
}

void activation_prepare(struct worker *worker)
{
    for (size_t i = 0; i < worker->module_count; i++) {
        struct worker_module *module = &worker->modules[i];
        module->offer_open =
            worker->settings->activate == ACTIVATE_AUTO && module->deployment->last_of_alias;
        if (activation_is_left(worker, module))
            report_left(worker, module);
    }
}

static void report_waiting(const struct worker *worker, struct worker_module *module,
                           const struct db_offer *offer)
{
    struct buf text;

    buf_init(&text, LIMIT_LOG_VALUE);
    for (size_t i = 0; i < offer->queues.count; i++)
        buf_printf(&text, "%s%s: %s", i == 0 ? "" : "; ", offer->queues.items[i],
                   offer->reasons.items[i]);
    /* Heartbeats repeat the offer: one line when it begins to wait. */
    if (strcmp(module->activation, "waiting") != 0)
        log_info("activation_waits", "not activated yet", LOG_QUEUE(worker->queue),
                 LOG_FLOW(module->deployment->flow),
                 LOG_FIELD_TEXT("alias", module->deployment->alias),
                 LOG_FIELD_TEXT("missing", text.data));
    buf_free(&text);
}

static void set_activation(struct worker_module *module, const char *word)
{
    snprintf(module->activation, sizeof module->activation, "%s", word);
}

static void report_switch(const struct worker *worker, const struct worker_module *module)
{
    log_info("activated", "new runs of the alias start this version from now on",
             LOG_QUEUE(worker->queue), LOG_FLOW(module->deployment->flow),
             LOG_FIELD_TEXT("alias", module->deployment->alias));
}

static void take_answer(struct worker *worker, struct worker_module *module,
                        const struct db_offer *offer)
{
    module->offer_open = offer->offered == DB_OFFER_WAITING;
    snprintf(module->active_flow, sizeof module->active_flow, "%s",
             offer->active_flow != NULL ? offer->active_flow : "");
    switch (offer->offered) {
    case DB_OFFER_ACTIVATED:
        set_activation(module, "activated");
        report_switch(worker, module);
        return;
    case DB_OFFER_ACTIVE:
        if (strcmp(module->activation, "activated") != 0)
            set_activation(module, "active");
        return;
    case DB_OFFER_WAITING:
        report_waiting(worker, module, offer);
        set_activation(module, "waiting");
        return;
    case DB_OFFER_SUPERSEDED:
        set_activation(module, "superseded");
        log_info("activation_superseded", "another version was made active after this one",
                 LOG_QUEUE(worker->queue), LOG_FLOW(module->deployment->flow),
                 LOG_FIELD_TEXT("alias", module->deployment->alias));
        return;
    }
}

static void offer_next(struct worker *worker);

static void on_offered(void *ctx, const struct db_status *status, const struct db_offer *offer)
{
    struct worker *worker = ctx;
    struct worker_module *module = &worker->modules[worker->activation.module];

    worker->activation.in_flight = false;
    if (worker->life.state != WORKER_STARTING && worker->life.state != WORKER_RUNNING)
        return;
    if (answer_is_there(worker, status, "offer_activation"))
        take_answer(worker, module, offer);
    /* After a lost answer the offer stays open for the next heartbeat. */
    worker->activation.module++;
    offer_next(worker);
}

static void offer_next(struct worker *worker)
{
    struct activation *activation = &worker->activation;

    while (activation->module < worker->module_count &&
           !worker->modules[activation->module].offer_open)
        activation->module++;
    if (activation->module < worker->module_count) {
        activation->in_flight = true;
        db_offer_activation(worker->db, worker->modules[activation->module].deployment->flow,
                            worker->identity.id, on_offered, worker);
        return;
    }
    activation->module = 0;
    void (*done)(struct worker *) = activation->done;
    activation->done = NULL;
    if (done != NULL)
        done(worker);
}

void activation_offer_all(struct worker *worker, void (*done)(struct worker *worker))
{
    worker->activation.done = done;
    offer_next(worker);
}

void activation_offer_again(struct worker *worker)
{
    if (worker->life.state == WORKER_RUNNING && !worker->activation.in_flight)
        activation_offer_all(worker, NULL);
}
