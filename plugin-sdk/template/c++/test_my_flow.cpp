/* Usage: test_my_flow MODULE.so
 * Calls each step in this process; any framework can stand in place of check(). */
#include <pgflow/testkit.h>

#include <iostream>
#include <string>

static int failures;

static void check(bool is_true, const std::string &what)
{
    if (is_true)
        return;
    std::cerr << "not so: " << what << '\n';
    failures++;
}

int main(int argc, char **argv)
{
    pgf_test *flow = pgf_test_open(argc > 1 ? argv[1] : "build/my_flow_v1.so");
    if (pgf_test_problem(flow) != nullptr) {
        std::cerr << pgf_test_problem(flow) << '\n';
        return 1;
    }
    auto gives = [&](const char *step, const char *input, const std::string &expected) {
        int32_t result = pgf_test_call(flow, step, input);
        std::string given = pgf_test_output(flow);
        check(result == PGF_OK && given == expected,
              std::string(step) + " gives " + expected + "; " + given + pgf_test_error(flow));
    };

    gives("count_up", "3", "[1,2,3]");
    gives("square", "-3", "9");
    gives("add_up", "{\"square\": [1, 4, 9]}", "14");

    check(pgf_test_call(flow, "count_up", "\"three\"") == PGF_PERMANENT, "a text is refused");
    check(std::string(pgf_test_error(flow)).find("whole number") != std::string::npos,
          "the error says what is wanted");

    pgf_test_close(flow);
    return failures > 0;
}
