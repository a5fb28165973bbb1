/* SPDX-License-Identifier: Apache-2.0
 * A flow whose one step says in what state its process is, and then leaves there what "what" names.
 * So the second of two runs shows what the first one left. README.md lists the words. */
#include "leaks.h"

#include <string.h>
#include <time.h>

#ifndef FLOW_SLUG
#define FLOW_SLUG "leaks"
#endif
#ifndef FLAGS
#define FLAGS 0
#endif

static bool do_leak(const struct leak *leaks, const char *what, bool *known)
{
    for (; leaks->name != NULL; leaks++)
        if (strcmp(leaks->name, what) == 0) {
            *known = true;
            return leaks->leave();
        }
    return true;
}

/* A few words of them: "alarm,chdir". */
static bool leave_all(const pgf_call *call, char *words)
{
    char *rest = NULL;
    for (char *what = strtok_r(words, ",", &rest); what != NULL;
         what = strtok_r(NULL, ",", &rest)) {
        bool known = false;
        bool ok = do_leak(leaks_put_back, what, &known) && do_leak(leaks_changed, what, &known) &&
                  do_leak(leaks_grown, what, &known);
        if (known && ok)
            continue;
        const char *why = known ? "cannot leave it here" : "no such word";
        call->set_error(call, why, strlen(why));
        return false;
    }
    return true;
}

static int32_t run(void *state, const pgf_call *call)
{
    char words[256] = "";
    struct timespec pause = {.tv_nsec = param_number(call, "us", 0) * 1000};
    (void)state;
    param_text(call, "what", words, sizeof words);
    /* Not with "blind": 1, so that the calls of what is left are the only ones. */
    if (param_number(call, "blind", 0) == 0 && !put_state(call))
        return PGF_PERMANENT;
    (void)nanosleep(&pause, NULL);
    return leave_all(call, words) ? PGF_OK : PGF_PERMANENT;
}

static const pgf_step steps[] = {
    {.struct_size = sizeof(pgf_step), .slug = "leave", .run = run},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER,
                                                .needs_minor = FLAGS == 0 ? 0 : 1, .flags = FLAGS,
                                                .flow_slug = FLOW_SLUG, .steps = PGF_ARRAY(steps)};
