/* SPDX-License-Identifier: Apache-2.0
 * Who looks after a category; for version 2, which posts one alert to each team. */
#ifndef SUPPORT_THREADS_TEAMS_H
#define SUPPORT_THREADS_TEAMS_H

/* Static; "support" for a category that nobody else has. */
const char *team_of(const char *category);

#endif
