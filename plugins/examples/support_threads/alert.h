/* SPDX-License-Identifier: Apache-2.0
 * The message that an incoming webhook of Slack takes, {"text": "..."}, of one classified
 * thread, or of all that a team has. What people wrote is escaped, so no subject can call a channel
 * or fake a link. */
#ifndef SUPPORT_THREADS_ALERT_H
#define SUPPORT_THREADS_ALERT_H

#include <cjson/cJSON.h>

/* The JSON text; cJSON_free() it. */
char *alert_text(const cJSON *verdict);

/* Of {"team", "threads": [...]}: one alert for all of them. */
char *digest_text(const cJSON *digest);

#endif
