/* SPDX-License-Identifier: Apache-2.0
 * Handlers with mistakes that only a memory checker sees. */
#include <pgflow/module.h>
#include <stdlib.h>

int32_t careless_lose(void *state, const pgf_call *call);
int32_t careless_overrun(void *state, const pgf_call *call);

int32_t careless_lose(void *state, const pgf_call *call)
{
    char *volatile lost = malloc(77);
    (void)state;
    if (lost != NULL)
        lost[0] = (char)call->attempt;
    lost = NULL;
    return PGF_OK;
}

int32_t careless_overrun(void *state, const pgf_call *call)
{
    volatile char *text = malloc(10);
    size_t end = 9 + call->attempt;
    (void)state;
    if (text != NULL)
        text[end] = 'x';
    free((void *)text);
    return PGF_OK;
}

static const pgf_step steps[] = {
    {.slug = "lose", .run = careless_lose},
    {.slug = "overrun", .run = careless_overrun},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "careless",
                                                .steps = PGF_ARRAY(steps)};
