/*
 * The document that a runner prints about a module, whose constructors may have
 * printed too: what the registry accepts can be looked up and shown.
 */
#include "fuzz.h"

#include "base/text.h"
#include "registry/registry.h"

#include <string.h>

static void check_deployment(const struct deployment *deployment)
{
    FUZZ_CHECK(text_is_deployment_slug(deployment->flow));
    FUZZ_CHECK(text_is_deployment_slug(deployment->alias));
    FUZZ_CHECK(deployment->version != NULL && queue_mode_name(deployment->mode) != NULL);
    FUZZ_CHECK(deployment->step_count >= 1 && deployment->step_count <= LIMIT_STEPS);
    for (size_t i = 0; i < deployment->step_count; i++) {
        FUZZ_CHECK(text_is_deployment_slug(deployment->steps[i].slug));
        FUZZ_CHECK(text_is_queue_name(deployment->steps[i].queue));
        FUZZ_CHECK(deployment->steps[i].index == i);
    }
}

/* Every pair is found, and nothing else is. */
static void check_pairs(const struct registry *registry)
{
    FUZZ_CHECK(registry_pair_count(registry) >= 1);
    FUZZ_CHECK(text_is_queue_name(registry_queue(registry)));
    for (size_t i = 0; i < registry_pair_count(registry); i++) {
        const struct deployment_step *step = registry_pair(registry, i);
        FUZZ_CHECK(registry_find(registry, step->deployment->flow, step->slug) == step);
        FUZZ_CHECK(step->served && strcmp(step->queue, registry_queue(registry)) == 0);
    }
    FUZZ_CHECK(registry_find(registry, "no flow", "no step") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct error error = {0};
    const char *queue = fuzz_text_or_null(&input, 60);
    struct registry_module first = {"./a.so", fuzz_text(&input, 20000), "aa", ""};
    struct registry_module second = {"./b.so", fuzz_rest(&input), "bb", ""};
    struct registry *registry = registry_create(&error);
    FUZZ_CHECK(registry != NULL);
    if (registry_add(registry, &first, &error)) {
        check_deployment(registry_deployment(registry, 0));
        if (registry_add(registry, &second, &error))
            check_deployment(registry_deployment(registry, 1));
        else
            FUZZ_CHECK(error.code == ERROR_CONFIG && error.text[0] != '\0');
    }
    error_clear(&error);
    if (registry_count(registry) > 0 && registry_bind_queue(registry, queue, &error))
        check_pairs(registry);
    else if (registry_count(registry) > 0)
        FUZZ_CHECK(error.code != ERROR_NONE && error.text[0] != '\0');
    registry_destroy(registry);
    fuzz_free_all();
    return 0;
}
