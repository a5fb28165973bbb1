/*
 * The rounds of a driver; see driver.h.
 */
#include "ctl/rollout/driver.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "ctl/rollout/driver_acts.h"
#include "ctl/rollout/driver_ask.h"
#include "ctl/rollout/driver_hosts.h"
#include "ctl/rollout/driver_lock.h"
#include "ctl/rollout/driver_stop.h"
#include "ctl/rollout/manifest.h"
#include "ctl/rollout/rollout_rows.h"
#include "db/sync.h"

#include <stdlib.h>
#include <string.h>

/* Nothing notifies of what a driver waits for: worker rows, runs that end, and the
 * operator's processes. */
enum {
    FIRST_LOOK_MS = 50,
    LONGEST_LOOK_MS = 2000,
    TELL_MS = 30000,
    TELL_CHANGE_MS = 1000,
    LOCK_MS = 2000
};

/* A deployment that is driven: that of the file, or the retirement that follows it. */
struct target {
    const char *deployment, *manifest;
    enum driver_step until;
    bool retires;    /* its entries do */
    bool is_derived; /* from the file's */
};

enum turn {
    TURN_MOVED,   /* look again at once */
    TURN_WAITS,   /* `lines` says for what */
    TURN_RETIRES, /* the retirement is a deployment of its own */
    TURN_OVER,
    TURN_STOPS, /* the error is set */
};

struct round {
    struct driver *driver;
    const struct target *target;
    enum driver_step step; /* whose turn it is; STEP_NONE: all are done */
    bool is_noted;
    struct buf lines;
    struct error *error;
};

/* How long the present step has been waited for, and what was told of it. */
struct wait {
    enum driver_step step;
    uint64_t since_ms, told_ms;
    uint32_t looks;
    struct buf told;
};

/* ---- The steps ---- */

static bool may_retire(struct round *round)
{
    struct driver *driver = round->driver;
    if (!driver->may_retire)
        driver->may_retire = driver_ask(
            driver, "retire", "What is retired takes no new runs, and its functions end disabled.",
            "Retire the old version now?", round->error);
    return driver->may_retire;
}

static bool may_switch(struct round *round)
{
    struct driver *driver = round->driver;
    if (!driver->may_switch)
        driver->may_switch =
            driver_ask(driver, "switch", round->lines.data, "Switch new starts now?", round->error);
    return driver->may_switch;
}

/* Refused: what it waits for. The manifest itself is never waited for. */
static enum turn act(struct round *round)
{
    if (driver_act(round->driver, round->step, round->target->deployment, round->target->manifest,
                   round->error))
        return TURN_MOVED;
    if (round->error->code != ERROR_ANSWER_NO || round->step == STEP_LOAD ||
        !driver_lock_take(round->driver->db, round->driver->lock, round->error))
        return TURN_STOPS;
    buf_clear(&round->lines);
    buf_puts(&round->lines, round->error->text);
    return TURN_WAITS;
}

static enum turn bring_up(struct round *round, bool applied, enum turn ready)
{
    switch (hosts_bring_up(round->driver, round->target->deployment, applied, &round->lines,
                           round->error)) {
    case HOSTS_FAILED:
        return TURN_STOPS;
    case HOSTS_CHANGED:
        return TURN_MOVED;
    case HOSTS_WAIT:
        return TURN_WAITS;
    case HOSTS_READY:
    default:
        return ready;
    }
}

static enum turn apply(struct round *round)
{
    if (round->target->retires && !may_retire(round))
        return TURN_STOPS;
    enum turn turn = bring_up(round, false, TURN_OVER);
    return turn == TURN_OVER ? act(round) : turn;
}

static enum turn retire(struct round *round)
{
    if (!may_retire(round))
        return TURN_STOPS;
    return round->target->is_derived || round->target->retires ? act(round) : TURN_RETIRES;
}

/* Every step is done; the processes of what was retired may still be there. */
static enum turn finish(struct round *round)
{
    buf_clear(&round->lines);
    switch (
        hosts_take_down(round->driver, round->target->deployment, &round->lines, round->error)) {
    case HOSTS_FAILED:
        return TURN_STOPS;
    case HOSTS_CHANGED:
        return TURN_MOVED;
    case HOSTS_WAIT:
        return TURN_WAITS;
    case HOSTS_READY:
    default:
        return TURN_OVER;
    }
}

static enum turn take_step(struct round *round)
{
    switch (round->step) {
    case STEP_NONE:
        return finish(round);
    case STEP_LOAD:
    case STEP_FENCE:
    case STEP_DEPRECATE:
        return act(round);
    case STEP_DEPLOY:
        return bring_up(round, false, TURN_WAITS);
    case STEP_APPLY:
        return apply(round);
    case STEP_CONFIRM:
        return bring_up(round, true, TURN_WAITS);
    case STEP_SWITCH:
        return may_switch(round) ? act(round) : TURN_STOPS;
    case STEP_RETIRE:
        return retire(round);
    case STEP_WAIT:
    case STEP_DRAIN:
    case DRIVER_STEPS:
    default:
        return TURN_WAITS;
    }
}

/* ---- One round ---- */

static enum driver_step find_step(const char *name)
{
    for (int i = STEP_LOAD; i < DRIVER_STEPS; i++) {
        if (strcmp(name, driver_step_names[i]) == 0)
            return (enum driver_step)i;
    }
    return strcmp(name, "file") == 0 ? STEP_LOAD : STEP_NONE;
}

static bool is_reached(const struct round *round)
{
    enum driver_step until = round->target->until;
    return until != STEP_NONE && (round->step == STEP_NONE || round->step > until);
}

/* The step whose turn it is, with what it waits for. A deployment that nobody goes on
 * with is one row without such a step. */
static enum turn read_turn(struct round *round, const struct db_rows *rows)
{
    round->step = STEP_NONE;
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        const char *state = db_rows_text(rows, i, STATE);
        if (rollout_is_over(state))
            continue;
        round->step = find_step(db_rows_text(rows, i, NAME));
        buf_printf(&round->lines, "%s\n", db_rows_text(rows, i, WAITS_FOR));
        if (round->step != STEP_NONE)
            return TURN_MOVED;
        (void)error_set(round->error, ERROR_ANSWER_NO, "deployment \"%s\" is %s: %s",
                        round->target->deployment, state, round->lines.data);
        return TURN_STOPS;
    }
    return TURN_MOVED;
}

/* What nothing waits for, and somebody should know: old code that stands by for good. */
static void tell_notes(struct round *round, const struct db_rows *rows)
{
    for (size_t i = 0; !round->is_noted && i < db_rows_count(rows); i++) {
        if (*db_rows_text(rows, i, NOTES))
            report_event(&round->driver->report, "note", "note", db_rows_text(rows, i, NOTES));
    }
    round->is_noted = true;
}

static enum turn look_and_take(struct round *round)
{
    struct driver *driver = round->driver;
    buf_clear(&round->lines);
    struct db_rows *rows = rollout_rows(driver->db, round->target->deployment,
                                        round->target->manifest, false, round->error);
    if (rows == NULL)
        return TURN_STOPS;
    enum turn turn = read_turn(round, rows);
    if (turn == TURN_MOVED && round->step == STEP_NONE)
        tell_notes(round, rows);
    db_rows_destroy(rows);
    driver->step = round->step;
    if (turn == TURN_STOPS || is_reached(round))
        return turn == TURN_STOPS ? TURN_STOPS : TURN_OVER;
    return take_step(round);
}

/* ---- Waiting ---- */

static int limit_s(const struct driver *driver, enum driver_step step)
{
    return step == STEP_DRAIN ? driver->drain_timeout_s : driver->timeout_s;
}

static void tell(struct round *round, struct wait *wait, uint64_t now_ms)
{
    bool changed = strcmp(round->lines.data, wait->told.data) != 0;
    uint64_t pause_ms = wait->told_ms == 0 ? 0 : changed ? TELL_CHANGE_MS : TELL_MS;
    if (now_ms - wait->told_ms < pause_ms)
        return;
    report_wait(&round->driver->report, driver_step_names[round->step], round->lines.data,
                now_ms - wait->since_ms, limit_s(round->driver, round->step));
    wait->told_ms = now_ms;
    buf_clear(&wait->told);
    buf_puts(&wait->told, round->lines.data);
}

static void begin_wait(struct wait *wait, enum driver_step step, uint64_t now_ms)
{
    buf_clear(&wait->told);
    *wait = (struct wait){.step = step, .since_ms = now_ms, .told = wait->told};
}

/* False: waited too long. */
static bool wait_a_while(struct round *round, struct wait *wait, bool is_told)
{
    uint64_t now_ms = clock_steady_ms();
    int limit = limit_s(round->driver, round->step);
    if (wait->step != round->step)
        begin_wait(wait, round->step, now_ms);
    if (is_told)
        tell(round, wait, now_ms);
    if (now_ms - wait->since_ms >= (uint64_t)limit * 1000)
        return error_set(round->error, ERROR_ANSWER_NO, "waited for %d s:\n%s", limit,
                         round->lines.data);
    (void)db_sync_wait(round->driver->db,
                       (int)clock_backoff_ms(FIRST_LOOK_MS, LONGEST_LOOK_MS, wait->looks++));
    return true;
}

/* A step that moved is looked at once more at once; one that stays where it is has to
 * be waited for like any other. A lost connection comes back. */
static bool go_on(struct round *round, struct wait *wait, enum turn turn)
{
    if (turn == TURN_STOPS) {
        if (round->error->code != ERROR_UNAVAILABLE)
            return false;
        buf_clear(&round->lines);
        buf_puts(&round->lines, round->error->text);
        return wait_a_while(round, wait, true);
    }
    if (turn == TURN_WAITS)
        return wait_a_while(round, wait, true);
    return wait->step != round->step || wait_a_while(round, wait, false);
}

static enum turn drive(struct driver *driver, const struct target *target, struct error *error)
{
    struct round round = {.driver = driver, .target = target, .error = error};
    struct wait wait = {.step = DRIVER_STEPS};
    enum turn turn = TURN_MOVED;
    bool goes_on = true;
    buf_init(&round.lines, (size_t)8 * LIMIT_MIB);
    buf_init(&wait.told, (size_t)8 * LIMIT_MIB);
    driver->report.deployment = target->deployment;
    while (goes_on) {
        turn = look_and_take(&round);
        goes_on = turn != TURN_OVER && turn != TURN_RETIRES && go_on(&round, &wait, turn);
        if (wait.step != round.step && turn == TURN_MOVED)
            begin_wait(&wait, round.step, clock_steady_ms());
    }
    if (turn != TURN_OVER && turn != TURN_RETIRES) {
        driver_stop(driver, round.step, error);
        turn = TURN_STOPS;
    }
    buf_free(&round.lines);
    buf_free(&wait.told);
    return turn;
}

/* ---- The whole ---- */

/* The retirement that follows sequence B. TURN_MOVED: there is none, and none is needed. */
static enum turn drive_retirement(struct driver *driver, bool only_begun, struct error *error)
{
    struct buf text;
    struct manifest manifest;
    error_clear(error);
    char *json = driver_retirement(driver, only_begun, error);
    if (json == NULL)
        return error->code == ERROR_NONE ? TURN_MOVED : TURN_STOPS;
    buf_init(&text, (size_t)8 * LIMIT_MIB);
    buf_puts(&text, json);
    free(json);
    bool read = buf_ok(&text) ? manifest_parse(&manifest, "retirement", &text, error)
                              : error_out_of_memory(error);
    if (!read) {
        buf_free(&text);
        return TURN_STOPS;
    }
    struct target target = {.deployment = manifest.deployment,
                            .manifest = manifest.text.data,
                            .retires = true,
                            .is_derived = true};
    enum turn turn = drive(driver, &target, error);
    driver->report.deployment = driver->manifest->deployment;
    manifest_free(&manifest);
    return turn;
}

static bool drive_all(struct driver *driver, struct error *error)
{
    struct target target = {.deployment = driver->manifest->deployment,
                            .manifest = driver->manifest->text.data,
                            .until = driver->until,
                            .retires = manifest_has(driver->manifest, "retire")};
    enum turn turn = drive(driver, &target, error);
    if (turn == TURN_RETIRES || (turn == TURN_OVER && driver->until == STEP_NONE)) {
        bool only_begun = turn == TURN_OVER;
        turn = drive_retirement(driver, only_begun, error);
        /* Without keep-draining functions, or after them, the version alone is retired. */
        target.is_derived = true;
        if (turn != TURN_STOPS && !only_begun)
            turn = drive(driver, &target, error);
    }
    return turn != TURN_STOPS;
}

bool driver_run(struct driver *driver, struct error *error)
{
    driver->lock = driver->manifest->deployment;
    driver->report.deployment = driver->lock;
    if (!driver_lock_require_session(driver->db, error) ||
        !driver_lock_await(driver->db, driver->lock, error))
        return false;
    if (!drive_all(driver, error))
        return false;
    report_event(&driver->report, "", "done",
                 driver->until != STEP_NONE ? "done, as far as --until says" : "done");
    return true;
}

void driver_free(struct driver *driver)
{
    for (size_t i = 0; i < driver->host_count; i++)
        free(driver->hosts[i].function);
    free(driver->hosts);
    driver->hosts = NULL;
    driver->host_count = 0;
}
