/* SPDX-License-Identifier: Apache-2.0
 * The deployment descriptor of license_audit. Two concrete flows are built from it, with
 * LICENSE_AUDIT_VERSION 1 and 2: they run side by side while version 1 drains. Version 2
 * adds `policy` and `flag_copyleft`, and groups the summary by family. */
#include "steps.h"

#include <pgflow/json.h>

#define MAIN_QUEUE "license_audit"
#define REPORT_QUEUE "license_report"

#if LICENSE_AUDIT_VERSION == 1
#define FLOW_SLUG "license_audit_v1"
#define VERSION "1.0.0"
#define SUMMARY step_summary
#define SUMMARY_CONTRACT "license_audit/summary/1"
#else
#define FLOW_SLUG "license_audit_v2"
#define VERSION "2.0.0"
#define SUMMARY step_summary_with_families
#define SUMMARY_CONTRACT "license_audit/summary/2"
#endif

static const pgf_options flow_options = {.max_attempts = PGF_INT(3), .timeout_s = PGF_INT(60)};
static const pgf_options scan_options = {.timeout_s = PGF_INT(10)};

static const char *const after_list[] = {"list", NULL};
static const char *const after_scan[] = {"scan", NULL};
static const char *const after_summary[] = {"summary", NULL};
#if LICENSE_AUDIT_VERSION >= 2
static const char *const after_policy_and_scan[] = {"policy", "scan", NULL};
#endif

static const pgf_step steps[] = {
    {.slug = "list", .queue = MAIN_QUEUE, .contract = "license_audit/list/1", .run = step_list},
#if LICENSE_AUDIT_VERSION >= 2
    {.slug = "policy",
     .queue = MAIN_QUEUE,
     .required_input = "{\"policy\": {}}",
     .when_unmet = "skip-cascade",
     .contract = "license_audit/policy/1",
     .run = step_policy},
#endif
    {.slug = "scan",
     .kind = PGF_STEP_MAP,
     .deps = after_list,
     .queue = MAIN_QUEUE,
     .options = &scan_options,
     .contract = "license_audit/scan/1",
     .run = step_scan},
    {.slug = "summary",
     .deps = after_scan,
     .queue = MAIN_QUEUE,
     .contract = SUMMARY_CONTRACT,
     .run = SUMMARY},
#if LICENSE_AUDIT_VERSION >= 2
    {.slug = "flag_copyleft",
     .deps = after_policy_and_scan,
     .queue = MAIN_QUEUE,
     .contract = "license_audit/flag_copyleft/1",
     .run = step_flag_copyleft},
#endif
    {.slug = "report",
     .deps = after_summary,
     .queue = REPORT_QUEUE,
     .flags = PGF_WANTS_FLOW_INPUT,
     .contract = "license_audit/report/1",
     .run = step_report},
};

/* A tree that lost a branch for want of memory could become a result. */
static int32_t init(const pgf_host *host, void **state)
{
    (void)host;
    (void)state;
    pgf_json_abort_without_memory();
    return 0;
}

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER,
                                                .flow_slug = FLOW_SLUG,
                                                .alias = "license_audit",
                                                .version = VERSION,
                                                .queue_mode = PGF_QUEUE_ROUTED,
                                                .options = &flow_options,
                                                .steps = PGF_ARRAY(steps),
                                                .init = init};
