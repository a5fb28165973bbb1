/* SPDX-License-Identifier: Apache-2.0
 * Finds the copyright files of the installed packages. */
#include "call_text.h"
#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pgflow/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char default_folder[] = "/usr/share/doc";

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dot_files(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Folder names may be any bytes; JSON, and so the database, takes UTF-8 only. Package
 * names are ASCII. */
static bool is_printable(const char *name)
{
    for (; *name != '\0'; name++)
        if (*name < ' ' || *name > '~')
            return false;
    return true;
}

static bool add_package(cJSON *list, const char *folder, const char *package)
{
    char path[PATH_MAX];
    struct stat about;
    int length = snprintf(path, sizeof path, "%s/%s/copyright", folder, package);
    if (length < 0 || (size_t)length >= sizeof path || !is_printable(package) ||
        stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false; /* nothing to audit there */
    cJSON *element = cJSON_CreateObject();
    cJSON_AddStringToObject(element, "package", package);
    cJSON_AddStringToObject(element, "file", path);
    return cJSON_AddItemToArray(list, element);
}

/* NULL and errno when the folder cannot be read. */
static cJSON *find_files(const char *folder, int limit)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, no_dot_files, by_bytes);
    if (n < 0)
        return NULL;
    cJSON *list = cJSON_CreateArray();
    for (int i = 0, found = 0; i < n; i++) {
        if (found < limit && add_package(list, folder, entries[i]->d_name))
            found++;
        free(entries[i]);
    }
    free(entries);
    return list;
}

int32_t step_list(void *state, const pgf_call *call)
{
    (void)state;
    cJSON *run = pgf_json_flow_input(call);
    if (run == NULL)
        return PGF_PERMANENT;
    const cJSON *limit = cJSON_GetObjectItemCaseSensitive(run, "limit");
    const char *folder = pgf_json_text(run, "folder", default_folder);
    int32_t answer = PGF_PERMANENT;
    if (limit != NULL && (!cJSON_IsNumber(limit) || limit->valueint < 1)) {
        call_fail(call, PGF_PERMANENT,
                  "\"limit\" must be a number from 1; leave it out for all files");
    } else {
        cJSON *list = find_files(folder, limit != NULL ? limit->valueint : INT_MAX);
        answer = list != NULL ? pgf_json_give(call, list)
                              : call_fail(call, PGF_PERMANENT, "cannot read the folder '%s': %s",
                                          folder, strerror(errno));
    }
    cJSON_Delete(run);
    return answer;
}
