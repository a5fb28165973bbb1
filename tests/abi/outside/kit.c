/* SPDX-License-Identifier: Apache-2.0
 * A test of somebody else, without a framework. It has a function of a name that the
 * test kit uses inside, which must not meet. */
#include <pgflow/testkit.h>
#include <stdio.h>

int error_set(void);
int error_set(void)
{
    return 1;
}

int main(int argc, char **argv)
{
    pgf_test *flow = argc > 1 ? pgf_test_open(argv[1]) : NULL;
    int32_t answer = pgf_test_problem(flow) == NULL ? pgf_test_call(flow, "only", "[1]") : 1;
    printf("%d %s %s\n", answer * error_set(), pgf_test_output(flow), pgf_test_error(flow));
    pgf_test_close(flow);
    return answer == PGF_OK ? 0 : 1;
}
