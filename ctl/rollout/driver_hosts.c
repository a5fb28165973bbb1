/*
 * Which hook a function needs now, and running it.
 */
#include "ctl/rollout/driver_hosts.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "ctl/query.h"
#include "ctl/rollout/driver.h"
#include "ctl/rollout/driver_lock.h"
#include "ctl/rollout/hook_run.h"
#include "ctl/rollout/hooks.h"
#include "db/sync.h"

#include <stdlib.h>
#include <string.h>

/* A hook that did not help so often will not. */
enum { TRIES = 3, PAUSE_MS = 1000, LONGEST_PAUSE_MS = 8000, LOOK_MS = 5, WORDS_SHOWN = 400 };

/* What `status` prints. */
enum processes { ALL_RUN, SOME_RUN, NONE_RUNS, UNKNOWN };

/* right: live hosts of the manifest's code; others: rows of other code that may live, and
 * the seconds since the latest of them spoke. */
enum { FUNCTION, RIGHT, OTHERS, SILENT };

/* What a later deployment took over is no longer this one's. */
#define OWN_ENTRIES                                                                                \
    " from pgflow.manifest_entries($1) e"                                                          \
    " left join pgflow.manifest_workers($1) w on w.function_name = e.function_name"                \
    " where e.start_mode = 'process' and not exists ("                                             \
    "   select from pgflow.deployment_manifest mine, pgflow.deployment_manifest later"             \
    "   where mine.deployment = $1 and later.fenced_at > mine.fenced_at"                           \
    "     and later.manifest @> jsonb_build_object('entries', jsonb_build_array("                  \
    "       jsonb_build_object('functionName', e.function_name))))"

static const char new_hosts_sql[] =
    "select e.function_name,"
    " count(*) filter (where w.live and w.right_modules is distinct from false),"
    " count(*) filter (where w.state <> 'stopped' and not w.gone and not w.right_modules),"
    " coalesce(min(extract(epoch from w.silent_for))"
    "   filter (where w.state <> 'stopped' and not w.right_modules), 0)" OWN_ENTRIES
    " and e.action in ('replace', 'add') and e.enabled group by 1 order by 1";
static const char retired_hosts_sql[] =
    "select e.function_name, 0,"
    " count(*) filter (where w.state <> 'stopped' and not w.gone), 0" OWN_ENTRIES
    " and e.action = 'retire' group by 1 order by 1";

struct facts {
    const char *function;
    long right, others;
    double silent_s;
};

struct visit {
    struct driver *driver;
    const char *deployment;
    struct facts facts;
    uint64_t asked_ms; /* before the facts were asked for */
    struct host_memory *memory;
    struct buf *lines;
    struct error *error;
};

/* NULL: out of memory. */
static struct host_memory *remember(struct driver *driver, const char *function)
{
    for (size_t i = 0; i < driver->host_count; i++) {
        if (strcmp(driver->hosts[i].function, function) == 0)
            return &driver->hosts[i];
    }
    struct host_memory *more =
        realloc(driver->hosts, (driver->host_count + 1) * sizeof *driver->hosts);
    if (more == NULL)
        return NULL;
    driver->hosts = more;
    more[driver->host_count] = (struct host_memory){.function = strdup(function)};
    return more[driver->host_count].function != NULL ? &more[driver->host_count++] : NULL;
}

/* ---- One hook ---- */

struct session {
    struct db_sync *db;
    int pid;
};

/* A connection that came back is another session, without the lock. */
static bool has_session(void *ctx)
{
    const struct session *session = ctx;
    return db_sync_wait(session->db, LOOK_MS) && db_sync_backend_pid(session->db) == session->pid;
}

/* Its last words, on one line. */
static void put_words(struct buf *out, const struct hook_run *run)
{
    const struct buf *said = run->err.size > 0 ? &run->err : &run->out;
    char words[WORDS_SHOWN];
    size_t shown = said->size < sizeof words - 1 ? said->size : sizeof words - 1;
    shown = text_clean(words, sizeof words, said->data + said->size - shown, shown);
    for (size_t i = 0; i < shown; i++)
        words[i] = words[i] == '\n' ? ' ' : words[i];
    while (shown > 0 && words[shown - 1] == ' ')
        words[--shown] = '\0';
    if (shown > 0)
        buf_printf(out, "; it printed: %s", words);
}

static void report_hook(const struct visit *visit, enum hook hook, const struct hook_run *run)
{
    struct buf text;
    buf_init(&text, LIMIT_MIB);
    buf_printf(&text, "%s of function \"%s\": ", hook_name(hook), visit->facts.function);
    if (run->timed_out)
        buf_printf(&text, "not over after %d s, its processes were ended",
                   visit->driver->hooks->timeout_s);
    else if (run->was_ended)
        buf_puts(&text, "ended, because the connection to the database was lost");
    else
        buf_printf(&text, "over after %.1f s, status %d", (double)run->took_ms / 1000, run->status);
    if (run->status != 0)
        put_words(&text, run);
    if (buf_ok(&text))
        report_event(&visit->driver->report, driver_step_names[visit->driver->step], "hook",
                     text.data);
    buf_free(&text);
}

/* hook_run_free in any case. */
static bool run_hook(const struct visit *visit, enum hook hook, struct hook_run *run)
{
    struct driver *driver = visit->driver;
    const char *words[HOOK_WORDS + 1];
    struct session session = {.db = driver->db};
    hooks_command(driver->hooks, visit->facts.function, hook, words);
    *run = (struct hook_run){.words = words,
                             .hook = hook_name(hook),
                             .function = visit->facts.function,
                             .deployment = visit->deployment,
                             .timeout_ms = (uint64_t)driver->hooks->timeout_s * 1000,
                             .may_go_on = has_session,
                             .ctx = &session};
    if (!driver_lock_take(driver->db, driver->lock, visit->error))
        return false;
    session.pid = db_sync_backend_pid(driver->db);
    return hook_run(run, visit->error);
}

static bool act(const struct visit *visit, enum hook hook)
{
    struct hook_run run;
    bool ran = run_hook(visit, hook, &run);
    if (ran)
        report_hook(visit, hook, &run);
    hook_run_free(&run);
    return ran;
}

static bool is_word(const char *word, size_t size, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strlen(*list) == size && strncmp(*list, word, size) == 0)
            return true;
    }
    return false;
}

/* Words as the contract has them, and as `systemctl is-active` prints them, one a
 * unit. Some of each is "partly". */
static enum processes read_status(const char *text)
{
    static const char *const running[] = {"running", "active", NULL};
    static const char *const stopped[] = {"stopped", "inactive", "failed", NULL};
    static const char *const partly[] = {"partly", NULL};
    static const char space[] = " \t\r\n";
    bool some_run = false;
    bool some_stopped = false;
    for (text += strspn(text, space); *text; text += strspn(text, space)) {
        size_t size = strcspn(text, space);
        bool is_partly = is_word(text, size, partly);
        bool runs = is_word(text, size, running);
        if (!is_partly && !runs && !is_word(text, size, stopped))
            return UNKNOWN;
        some_run = some_run || is_partly || runs;
        some_stopped = some_stopped || !runs;
        text += size;
    }
    return some_run && some_stopped ? SOME_RUN
           : some_run               ? ALL_RUN
           : some_stopped           ? NONE_RUNS
                                    : UNKNOWN;
}

static bool ask_status(const struct visit *visit, enum processes *processes)
{
    struct hook_run run;
    bool ran = run_hook(visit, HOOK_STATUS, &run);
    *processes = UNKNOWN;
    if (ran && !run.timed_out && !run.was_ended)
        *processes = read_status(run.out.data);
    if (ran && *processes == UNKNOWN) {
        buf_printf(visit->lines,
                   "the hook \"status\" of function \"%s\" says neither running, stopped nor "
                   "partly%s",
                   visit->facts.function, run.timed_out ? ": it was not over in time" : "");
        put_words(visit->lines, &run);
        buf_putc(visit->lines, '\n');
    }
    hook_run_free(&run);
    return ran;
}

/* ---- What a function needs ---- */

static enum hosts fail(const struct visit *visit, const char *what)
{
    (void)error_set(visit->error, ERROR_ANSWER_NO, "function \"%s\": %s", visit->facts.function,
                    what);
    return HOSTS_FAILED;
}

static enum hosts stop(const struct visit *visit)
{
    struct host_memory *memory = visit->memory;
    if (memory->stops_since_start >= TRIES)
        return fail(visit, "the hook \"stop\" ran 3 times, and old hosts still run; stop them, and "
                           "see that \"start\" starts the code of the manifest");
    memory->stops++;
    memory->stops_since_start++;
    memory->was_wrong = memory->starts > 0;
    bool ran = act(visit, HOOK_STOP);
    memory->stopped_ms = clock_steady_ms();
    return ran ? HOSTS_CHANGED : HOSTS_FAILED;
}

static enum hosts start(const struct visit *visit)
{
    struct host_memory *memory = visit->memory;
    if (clock_steady_ms() < memory->next_start_ms) {
        buf_printf(visit->lines,
                   "the hosts of function \"%s\" do not run; \"start\" is tried again\n",
                   visit->facts.function);
        return HOSTS_WAIT;
    }
    if (memory->starts >= TRIES && memory->was_wrong)
        return fail(visit,
                    "the hook \"start\" ran 3 times, and its hosts carry other code than the "
                    "manifest names");
    if (memory->starts >= TRIES)
        return fail(visit, "the hook \"start\" ran 3 times, and \"status\" says that its hosts do "
                           "not run; look into their log");
    bool ran = act(visit, HOOK_START);
    memory->next_start_ms =
        clock_steady_ms() + clock_backoff_ms(PAUSE_MS, LONGEST_PAUSE_MS, (uint32_t)memory->starts);
    memory->starts++;
    memory->stops_since_start = 0;
    memory->was_wrong = false;
    return ran ? HOSTS_CHANGED : HOSTS_FAILED;
}

/* Rows of hosts that this driver has stopped may look alive for some seconds. */
static bool others_live(const struct visit *visit)
{
    uint64_t stopped_ms = visit->memory->stopped_ms;
    return visit->facts.others > 0 &&
           (stopped_ms == 0 ||
            (visit->asked_ms > stopped_ms &&
             visit->facts.silent_s * 1000 < (double)(visit->asked_ms - stopped_ms)));
}

static enum hosts bring_up_by_hooks(const struct visit *visit, bool applied)
{
    const struct facts *facts = &visit->facts;
    enum processes processes = UNKNOWN;
    if (!ask_status(visit, &processes))
        return HOSTS_FAILED;
    if (processes == UNKNOWN)
        return HOSTS_WAIT;
    if (processes == NONE_RUNS)
        return start(visit);
    /* Beside good hosts, once: what comes back then is not the hooks' to stop. */
    if (!applied && others_live(visit) && (facts->right == 0 || visit->memory->stops == 0))
        return stop(visit);
    if (processes == SOME_RUN)
        return start(visit);
    if (facts->right > 0)
        return HOSTS_READY;
    buf_printf(visit->lines,
               "the hosts of function \"%s\" run, and have not come to the database\n",
               facts->function);
    return HOSTS_WAIT;
}

static enum hosts bring_up(const struct visit *visit, bool applied)
{
    const struct facts *facts = &visit->facts;
    if (hooks_has(visit->driver->hooks, facts->function))
        return bring_up_by_hooks(visit, applied);
    if (facts->right > 0)
        return HOSTS_READY;
    buf_printf(visit->lines,
               "%s the hosts of function \"%s\" with the modules of the manifest: no hooks file "
               "names it\n",
               facts->others > 0 ? "stop those of other code, and start" : "start",
               facts->function);
    return HOSTS_WAIT;
}

static enum hosts take_down(const struct visit *visit, bool unused)
{
    enum processes processes = UNKNOWN;
    (void)unused;
    if (!hooks_has(visit->driver->hooks, visit->facts.function)) {
        if (visit->facts.others == 0)
            return HOSTS_READY;
        buf_printf(visit->lines,
                   "stop the supervisor of function \"%s\", which is retired: no hooks file names "
                   "it\n",
                   visit->facts.function);
        return HOSTS_WAIT;
    }
    if (!ask_status(visit, &processes))
        return HOSTS_FAILED;
    return processes == NONE_RUNS ? HOSTS_READY : processes == UNKNOWN ? HOSTS_WAIT : stop(visit);
}

/* ---- All of a deployment ---- */

static enum hosts visit_all(struct visit *visit, const char *sql, bool applied,
                            enum hosts (*look)(const struct visit *visit, bool applied))
{
    visit->asked_ms = clock_steady_ms();
    struct db_rows *rows = query_rows(visit->driver->db, sql, &visit->deployment, 1, visit->error);
    enum hosts all = rows != NULL ? HOSTS_READY : HOSTS_FAILED;
    for (size_t i = 0; all != HOSTS_FAILED && i < db_rows_count(rows); i++) {
        visit->facts = (struct facts){.function = db_rows_text(rows, i, FUNCTION),
                                      .right = strtol(db_rows_text(rows, i, RIGHT), NULL, 10),
                                      .others = strtol(db_rows_text(rows, i, OTHERS), NULL, 10),
                                      .silent_s = strtod(db_rows_text(rows, i, SILENT), NULL)};
        visit->memory = remember(visit->driver, visit->facts.function);
        if (visit->memory == NULL) {
            (void)error_out_of_memory(visit->error);
            all = HOSTS_FAILED;
            break;
        }
        enum hosts one = look(visit, applied);
        /* CHANGED outweighs WAIT: there is news to look at. */
        if (one == HOSTS_FAILED || all == HOSTS_READY || one == HOSTS_CHANGED)
            all = one;
    }
    db_rows_destroy(rows);
    return all;
}

enum hosts hosts_bring_up(struct driver *driver, const char *deployment, bool applied,
                          struct buf *lines, struct error *error)
{
    struct visit visit = {
        .driver = driver, .deployment = deployment, .lines = lines, .error = error};
    return visit_all(&visit, new_hosts_sql, applied, bring_up);
}

enum hosts hosts_take_down(struct driver *driver, const char *deployment, struct buf *lines,
                           struct error *error)
{
    struct visit visit = {
        .driver = driver, .deployment = deployment, .lines = lines, .error = error};
    return visit_all(&visit, retired_hosts_sql, true, take_down);
}
