/* SPDX-License-Identifier: Apache-2.0 */
#include "license_set.h"

#include <string.h>

bool license_set_has(const struct license_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->names[i], name) == 0)
            return true;
    return false;
}

void license_set_add(struct license_set *set, const char *name, size_t size)
{
    char normal[LICENSE_NAME_SIZE];
    license_normalise(normal, name, size);
    if (normal[0] == '\0' || license_set_has(set, normal))
        return;
    if (set->count == LICENSE_SET_SIZE) {
        set->full = true;
        return;
    }
    memcpy(set->names[set->count++], normal, sizeof normal);
}
