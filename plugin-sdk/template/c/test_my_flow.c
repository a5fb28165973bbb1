/* Usage: test_my_flow MODULE.so
 * Calls each step in this process; any framework can stand in place of CHECK. */
#include <pgflow/testkit.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* The step gives this result for this input. */
static int gives(pgf_test *flow, const char *step, const char *input, const char *expected)
{
    if (pgf_test_call(flow, step, input) == PGF_OK && strcmp(pgf_test_output(flow), expected) == 0)
        return 1;
    fprintf(stderr, "%s: '%s' %s\n", step, pgf_test_output(flow), pgf_test_error(flow));
    return 0;
}

int main(int argc, char **argv)
{
    pgf_test *flow = pgf_test_open(argc > 1 ? argv[1] : "build/my_flow_v1.so");
    if (pgf_test_problem(flow) != NULL) {
        fprintf(stderr, "%s\n", pgf_test_problem(flow));
        return 1;
    }

    CHECK(gives(flow, "count_up", "3", "[1,2,3]"));
    CHECK(gives(flow, "square", "-3", "9"));
    CHECK(gives(flow, "add_up", "{\"square\": [1, 4, 9]}", "14"));

    CHECK(pgf_test_call(flow, "count_up", "\"three\"") == PGF_PERMANENT);
    CHECK(strstr(pgf_test_error(flow), "whole number") != NULL);

    pgf_test_close(flow);
    return failures > 0;
}
