/* SPDX-License-Identifier: Apache-2.0
 * A library that a module brings along. */
int pgf_test_dependency_answer(void);

__attribute__((visibility("default"))) int pgf_test_dependency_answer(void)
{
    return DEPENDENCY_ANSWER;
}
