/*
 * A snapshot as a file gives it, and the verdict on a module by it: the file is foreign. The digest
 * is made right, so that what is behind it is reached; every other byte counts.
 */
#include "fuzz.h"

#include "ctl/preflight/preflight.h"
#include "ctl/preflight/preflight_report.h"

#include <string.h>

static const char module[] =
    "{\"abi\":{\"major\":1,\"minor\":1,\"needsMinor\":0},\"flowSlug\":\"v1\",\"alias\":\"v\","
    "\"version\":null,\"queueMode\":\"routed\",\"options\":{},\"routes\":{\"a\":\"q\",\"b\":\"r\"},"
    "\"steps\":[{\"slug\":\"a\",\"index\":0,\"stepType\":\"single\",\"dependencies\":[],\"queue\":"
    "\"q\",\"whenUnmet\":\"skip\",\"whenExhausted\":\"fail\",\"requiredInputPattern\":{\"defined\":"
    "true,\"value\":{\"n\":1.0}},\"forbiddenInputPattern\":{\"defined\":false},\"options\":{},"
    "\"contract\":\"x\",\"wantsFlowInput\":false},{\"slug\":\"b\",\"index\":1,\"stepType\":"
    "\"single\",\"dependencies\":[\"a\"],\"queue\":\"r\",\"whenUnmet\":\"skip\",\"whenExhausted\":"
    "\"fail\",\"requiredInputPattern\":{\"defined\":false},\"forbiddenInputPattern\":{\"defined\":"
    "false},\"options\":{},\"contract\":null,\"wantsFlowInput\":false}]}";

static struct registry *given_module(void)
{
    static struct registry *registry;
    struct error error;
    if (registry == NULL) {
        registry = registry_create(&error);
        FUZZ_CHECK(registry != NULL);
        FUZZ_CHECK(
            registry_add(registry,
                         &(struct registry_module){
                             .file = "v1.so", .descriptor = module, .sha256 = "", .build_id = ""},
                         &error));
        FUZZ_CHECK(registry_bind_queue(registry, "q", &error));
    }
    return registry;
}

static void judge(const struct snapshot *snapshot)
{
    struct preflight preflight = {.snapshot = snapshot,
                                  .registry = given_module(),
                                  .function = "pgflow-host/q",
                                  .beside_live = snapshot->host_count % 2 == 0};
    enum preflight_verdict verdict;
    struct error error = {0};
    struct buf json;
    struct json_view view;

    buf_init(&json, SNAPSHOT_MAX);
    if (preflight_judge(&preflight, &verdict, &error)) {
        preflight_put_json(&json, &preflight, verdict);
        FUZZ_CHECK(buf_ok(&json) && json_view_open(&view, json.data, json.size, &error));
        FUZZ_CHECK((verdict == PREFLIGHT_NOT_SAFE) ==
                   (findings_of(&preflight.findings, FINDING_PROBLEM) > 0));
    } else {
        FUZZ_CHECK(error.code == ERROR_CONFIG && error.text[0] != '\0');
    }
    buf_free(&json);
    findings_free(&preflight.findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot snapshot = {.flow_count = 0};
    char digest[SNAPSHOT_DIGEST];
    struct error error = {0};
    struct json_view view;
    struct buf text;

    buf_init(&text, SNAPSHOT_MAX);
    if (json_view_open(&view, (const char *)data, size, &error) && view.text[0] == '{' &&
        snapshot_digest(view, digest, &error)) {
        buf_put(&text, view.text, view.size - 1);
        buf_printf(&text, "%s\"digest\": \"%s\"}", view.size > 2 ? ", " : "", digest);
    } else {
        buf_put(&text, data, size);
    }
    if (snapshot_read(&snapshot, &text, &error))
        judge(&snapshot);
    else
        FUZZ_CHECK(error.code == ERROR_CONFIG && error.text[0] != '\0');
    snapshot_free(&snapshot);
    buf_free(&text);
    return 0;
}
