/* SPDX-License-Identifier: Apache-2.0
 * The handlers of license_audit; module.c puts them together. Each takes its input and
 * gives its result as the comment says. Run input (all members optional):
 *   {"folder": "/usr/share/doc", "limit": 100, "report": "/path/report.md",
 *    "policy": {"families": ["copyleft"], "except": ["bash"]}} */
#ifndef LICENSE_AUDIT_STEPS_H
#define LICENSE_AUDIT_STEPS_H

#include <pgflow/module.h>

/* run input -> [{"package", "file"}], sorted, at most `limit`: the files
 * <folder>/<package>/copyright. */
int32_t step_list(void *state, const pgf_call *call);

/* one element of `list` -> {"package", "licenses": [names], "by": "dep5" | "text" | "nothing"},
 * or {"package", "licenses": [], "unreadable": why} */
int32_t step_scan(void *state, const pgf_call *call);

/* {"scan": [...]} -> {"packages", "unreadable", "unrecognised",
 * "byLicense": [{"license", "packages"}]}, most frequent first. A package with two licences
 * counts in both. */
int32_t step_summary(void *state, const pgf_call *call);

/* The same, and "byFamily": [{"family", "packages"}]. */
int32_t step_summary_with_families(void *state, const pgf_call *call);

/* {"summary": {...}} and run input -> {"file", "bytes"}: writes the report in Markdown to
 * `report`, or to license-audit-<run>.md in TMPDIR. */
int32_t step_report(void *state, const pgf_call *call);

/* run input, with "policy" -> {"families": [...], "except": [...]}, checked */
int32_t step_policy(void *state, const pgf_call *call);

/* {"policy": {...}, "scan": [...]} -> {"flagged": n, "packages": [{"package", "licenses"}]}:
 * those with a licence of the policy's families, the excepted ones left out */
int32_t step_flag_copyleft(void *state, const pgf_call *call);

#endif
