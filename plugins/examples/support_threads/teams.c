/* SPDX-License-Identifier: Apache-2.0 */
#include "teams.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *category, *team;
} teams[] = {
    {"outage", "platform"}, {"data", "platform"},    {"security", "security"},
    {"billing", "billing"}, {"account", "security"},
};

const char *team_of(const char *category)
{
    for (size_t i = 0; i < sizeof teams / sizeof teams[0]; i++)
        if (strcmp(teams[i].category, category) == 0)
            return teams[i].team;
    return "support";
}
