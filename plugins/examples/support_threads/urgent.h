/* SPDX-License-Identifier: Apache-2.0
 * Which of the classified threads are alerted about; for step_pick.c and step_group.c. */
#ifndef SUPPORT_THREADS_URGENT_H
#define SUPPORT_THREADS_URGENT_H

#include <cjson/cJSON.h>

/* Takes the urgent ones out of the list, the highest score first; a list of them, which the caller
 * deletes or gives away. */
cJSON *take_urgent(cJSON *verdicts);

#endif
