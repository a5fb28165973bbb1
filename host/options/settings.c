#include "options/settings.h"

#include <stdlib.h>

static void finish_list(struct settings_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct settings_list){NULL, 0};
}

void settings_finish(struct settings *settings)
{
    finish_list(&settings->plugins);
    finish_list(&settings->adopt_queues);
    finish_list(&settings->pass_env);
    free(settings->queue);
    free(settings->database);
    free(settings->function);
    free(settings->handler_user);
    free(settings->module_dir);
    free(settings->metrics_listen);
    free(settings->config);
    *settings = (struct settings){.queue = NULL};
}
