/* SPDX-License-Identifier: Apache-2.0
 * A library that a module brings along. */
int pgf_test_helper(int n);

int pgf_test_helper(int n)
{
    return 2 * n;
}
