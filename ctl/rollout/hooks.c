/*
 * Reading a hooks file.
 */
#include "ctl/rollout/hooks.h"

#include "base/json_check.h"
#include "base/limits.h"
#include "base/text_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { TIMEOUT_S = 300, TIMEOUT_MOST_S = 86400 };

static const char *const names[HOOKS] = {"stop", "start", "status"};

const char *hook_name(enum hook hook)
{
    return names[hook];
}

static bool refuse(const struct hooks *hooks, const char *function, const char *what,
                   struct error *error)
{
    return error_set(error, ERROR_USAGE, "hooks '%s': %s%s%s%s", hooks->path.data,
                     function != NULL ? "function \"" : "", function != NULL ? function : "",
                     function != NULL ? "\" " : "", what);
}

static bool is_command(const cJSON *command)
{
    const cJSON *word = NULL;
    if (cJSON_IsString(command))
        return *command->valuestring != '\0';
    if (!cJSON_IsArray(command) || cJSON_GetArraySize(command) == 0 ||
        cJSON_GetArraySize(command) > HOOK_WORDS)
        return false;
    cJSON_ArrayForEach(word, command)
    {
        if (!cJSON_IsString(word))
            return false;
    }
    return *cJSON_GetArrayItem(command, 0)->valuestring != '\0';
}

static bool check_function(const struct hooks *hooks, const cJSON *entry, struct error *error)
{
    const cJSON *command = NULL;
    if (!cJSON_IsObject(entry) || cJSON_GetArraySize(entry) != HOOKS)
        return refuse(hooks, entry->string, "needs exactly \"stop\", \"start\" and \"status\"",
                      error);
    for (int i = 0; i < HOOKS; i++) {
        command = cJSON_GetObjectItemCaseSensitive(entry, names[i]);
        if (command == NULL)
            return refuse(hooks, entry->string, "needs exactly \"stop\", \"start\" and \"status\"",
                          error);
        if (!is_command(command))
            return refuse(hooks, entry->string,
                          "has a command that is neither a text for the shell nor a list of 1 to "
                          "64 words",
                          error);
    }
    return true;
}

static bool check(struct hooks *hooks, struct error *error)
{
    const cJSON *functions = cJSON_GetObjectItemCaseSensitive(hooks->json, "functions");
    const cJSON *timeout = cJSON_GetObjectItemCaseSensitive(hooks->json, "timeout");
    const cJSON *entry = NULL;
    if (!cJSON_IsObject(functions) || cJSON_GetArraySize(hooks->json) != (timeout != NULL ? 2 : 1))
        return refuse(hooks, NULL,
                      "needs \"functions\": {NAME: {\"stop\", \"start\", \"status\"}}, perhaps "
                      "\"timeout\" in seconds, and nothing else",
                      error);
    hooks->timeout_s = TIMEOUT_S;
    if (timeout != NULL) {
        double seconds = cJSON_GetNumberValue(timeout);
        if (!(seconds >= 1 && seconds <= TIMEOUT_MOST_S) || seconds != (double)(int)seconds)
            return refuse(hooks, NULL, "\"timeout\" must be whole seconds from 1 to 86400", error);
        hooks->timeout_s = (int)seconds;
    }
    cJSON_ArrayForEach(entry, functions)
    {
        if (!check_function(hooks, entry, error))
            return false;
    }
    return true;
}

static bool parse(struct hooks *hooks, const struct buf *text, struct error *error)
{
    if (!json_check_text(text->data, text->size, error)) {
        (void)error_wrap(error, "hooks '%s'", hooks->path.data);
        error->code = ERROR_USAGE;
        return false;
    }
    hooks->json = cJSON_ParseWithLength(text->data, text->size);
    return hooks->json != NULL ? check(hooks, error)
                               : refuse(hooks, NULL, "no JSON that can be read", error);
}

/* deploy/x.json has its hooks in deploy/x.hooks.json. */
static void put_path_beside(struct buf *path, const char *manifest_path)
{
    static const char end[] = ".json";
    size_t size = strlen(manifest_path);
    size_t tail = sizeof end - 1;
    bool ends = size > tail && strcmp(manifest_path + size - tail, end) == 0;
    buf_put(path, manifest_path, ends ? size - tail : size);
    buf_puts(path, ".hooks.json");
}

bool hooks_read(struct hooks *hooks, const char *path, const char *manifest_path,
                struct error *error)
{
    struct buf text;
    *hooks = (struct hooks){.timeout_s = TIMEOUT_S};
    buf_init(&hooks->path, LIMIT_MIB);
    if (path != NULL)
        buf_puts(&hooks->path, path);
    else
        put_path_beside(&hooks->path, manifest_path);
    if (!buf_ok(&hooks->path)) {
        hooks_free(hooks);
        return error_out_of_memory(error);
    }
    struct stat about;
    if (path == NULL && stat(hooks->path.data, &about) != 0 && errno == ENOENT) {
        buf_clear(&hooks->path);
        return true;
    }
    buf_init(&text, LIMIT_MIB);
    bool read =
        (text_file_read_trusted(hooks->path.data, &text, error) || error_wrap(error, "hooks")) &&
        parse(hooks, &text, error);
    buf_free(&text);
    if (!read)
        hooks_free(hooks);
    return read;
}

void hooks_free(struct hooks *hooks)
{
    cJSON_Delete(hooks->json);
    hooks->json = NULL;
    buf_free(&hooks->path);
}

static const cJSON *find(const struct hooks *hooks, const char *function)
{
    const cJSON *functions = cJSON_GetObjectItemCaseSensitive(hooks->json, "functions");
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(functions, function);
    return entry != NULL ? entry : cJSON_GetObjectItemCaseSensitive(functions, "*");
}

bool hooks_has(const struct hooks *hooks, const char *function)
{
    return find(hooks, function) != NULL;
}

void hooks_command(const struct hooks *hooks, const char *function, enum hook hook,
                   const char *words[HOOK_WORDS + 1])
{
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(find(hooks, function), names[hook]);
    const cJSON *word = NULL;
    size_t count = 0;
    if (cJSON_IsString(command)) {
        words[count++] = "/bin/sh";
        words[count++] = "-c";
        words[count++] = command->valuestring;
    } else {
        cJSON_ArrayForEach(word, command)
        {
            words[count++] = word->valuestring;
        }
    }
    words[count] = NULL;
}
