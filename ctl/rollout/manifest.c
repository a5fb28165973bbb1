/*
 * Reading a manifest file.
 */
#include "ctl/rollout/manifest.h"

#include "base/json_check.h"
#include "base/limits.h"
#include "base/text_file.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static bool parse(struct manifest *manifest, const char *path, struct error *error)
{
    if (!json_check_text(manifest->text.data, manifest->text.size, error)) {
        (void)error_wrap(error, "manifest '%s'", path);
        error->code = ERROR_USAGE;
        return false;
    }
    manifest->json = cJSON_ParseWithLength(manifest->text.data, manifest->text.size);
    if (manifest->json == NULL)
        return error_set(error, ERROR_USAGE, "manifest '%s' is no JSON that can be read", path);
    manifest->deployment =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(manifest->json, "deployment"));
    if (manifest->deployment == NULL || !*manifest->deployment)
        return error_set(error, ERROR_USAGE,
                         "manifest '%s' names no deployment: give it \"deployment\": \"NAME\"",
                         path);
    if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(manifest->json, "entries")))
        return error_set(error, ERROR_USAGE, "manifest '%s' has no list \"entries\"", path);
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(manifest->json, "entries")) == 0)
        return error_set(error, ERROR_USAGE,
                         "manifest '%s' has no entries: name at least one function", path);
    return true;
}

bool manifest_read(struct manifest *manifest, const char *path, struct error *error)
{
    *manifest = (struct manifest){.json = NULL};
    buf_init(&manifest->text, LIMIT_MIB);
    if ((text_file_read(path, &manifest->text, error) || error_wrap(error, "manifest")) &&
        parse(manifest, path, error))
        return true;
    manifest_free(manifest);
    return false;
}

bool manifest_parse(struct manifest *manifest, const char *name, struct buf *text,
                    struct error *error)
{
    *manifest = (struct manifest){.text = *text};
    if (parse(manifest, name, error))
        return true;
    cJSON_Delete(manifest->json);
    return false;
}

void manifest_free(struct manifest *manifest)
{
    cJSON_Delete(manifest->json);
    manifest->json = NULL;
    buf_free(&manifest->text);
}

static const cJSON *entries(const struct manifest *manifest)
{
    return cJSON_GetObjectItemCaseSensitive(manifest->json, "entries");
}

static const cJSON *member(const struct manifest *manifest, size_t entry, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(entries(manifest), (int)entry),
                                            name);
}

size_t manifest_count(const struct manifest *manifest)
{
    return (size_t)cJSON_GetArraySize(entries(manifest));
}

const char *manifest_text(const struct manifest *manifest, size_t entry, const char *name)
{
    const char *text = cJSON_GetStringValue(member(manifest, entry, name));
    return text != NULL ? text : "";
}

const char *manifest_flow(const struct manifest *manifest, size_t entry)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(member(manifest, entry, "serves"), "flow"));
}

size_t manifest_modules(const struct manifest *manifest, size_t entry)
{
    const cJSON *modules = member(manifest, entry, "modules");
    const cJSON *first = cJSON_GetArrayItem(modules, 0);
    return (size_t)cJSON_GetArraySize(cJSON_IsArray(first) ? first : modules);
}

bool manifest_has(const struct manifest *manifest, const char *action)
{
    for (size_t i = 0; i < manifest_count(manifest); i++) {
        if (strcmp(manifest_text(manifest, i, "action"), action) == 0)
            return true;
    }
    return false;
}
