/* The document that inspect prints, byte by byte. */
#include "sample.h"

#include "runner/descriptor_json.h"

#include <criterion/criterion.h>

static void prints(const struct sample *s, const char *expected)
{
    struct buf out;
    struct descriptor *d = accepts(&s->module);
    buf_init(&out, LIMIT_DESCRIPTOR_JSON);

    descriptor_put_json(&out, d);

    cr_assert(buf_ok(&out));
    cr_assert_str_eq(out.data, expected);
    buf_free(&out);
    descriptor_free(d);
}

Test(json, has_every_member)
{
    struct sample s;
    sample_init(&s);

    prints(
        &s,
        "{\"abi\":{\"major\":1,\"minor\":1,\"needsMinor\":0},\"flowSlug\":\"Audit_v1\","
        "\"alias\":\"audit\",\"version\":\"1.2\",\"queueMode\":\"flow\","
        "\"options\":{\"maxAttempts\":5,\"baseDelay\":2,\"timeout\":30},\"routes\":{},\"steps\":["
        "{\"slug\":\"list\",\"index\":0,\"stepType\":\"single\",\"dependencies\":[],"
        "\"queue\":\"audit_v1\",\"whenUnmet\":\"skip\",\"whenExhausted\":\"fail\","
        "\"requiredInputPattern\":{\"defined\":false},\"forbiddenInputPattern\":{\"defined\":false}"
        ","
        "\"options\":{\"startDelay\":7},\"contract\":null,\"wantsFlowInput\":false},"
        "{\"slug\":\"scan\",\"index\":1,\"stepType\":\"map\",\"dependencies\":[\"list\"],"
        "\"queue\":\"audit_v1\",\"whenUnmet\":\"skip\",\"whenExhausted\":\"fail\","
        "\"requiredInputPattern\":{\"defined\":false},\"forbiddenInputPattern\":{\"defined\":false}"
        ","
        "\"options\":{},\"contract\":null,\"wantsFlowInput\":false},"
        "{\"slug\":\"report\",\"index\":2,\"stepType\":\"single\","
        "\"dependencies\":[\"list\",\"scan\"],\"queue\":\"audit_v1\","
        "\"whenUnmet\":\"skip-cascade\",\"whenExhausted\":\"fail\","
        "\"requiredInputPattern\":{\"defined\":true,\"value\":{\"kind\": [1]}},"
        "\"forbiddenInputPattern\":{\"defined\":false},\"options\":{},"
        "\"contract\":\"report/\\\"1\\\"\",\"wantsFlowInput\":true}]}");
}

Test(json, names_the_routes_in_the_routed_mode)
{
    struct sample s;
    sample_init(&s);
    s.module.queue_mode = PGF_QUEUE_ROUTED;
    s.module.alias = s.module.version = NULL;
    s.module.options = NULL;
    s.module.n_steps = 1;
    s.steps[0].options = NULL;
    s.steps[0].queue = "Main";

    prints(&s, "{\"abi\":{\"major\":1,\"minor\":1,\"needsMinor\":0},\"flowSlug\":\"Audit_v1\","
               "\"alias\":\"Audit_v1\",\"version\":null,\"queueMode\":\"routed\",\"options\":{},"
               "\"routes\":{\"list\":\"main\"},\"steps\":["
               "{\"slug\":\"list\",\"index\":0,\"stepType\":\"single\",\"dependencies\":[],"
               "\"queue\":\"main\",\"whenUnmet\":\"skip\",\"whenExhausted\":\"fail\","
               "\"requiredInputPattern\":{\"defined\":false},"
               "\"forbiddenInputPattern\":{\"defined\":false},\"options\":{},\"contract\":null,"
               "\"wantsFlowInput\":false}]}");
}
