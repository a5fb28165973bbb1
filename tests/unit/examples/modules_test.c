/* The built example modules, step by step on real files. */
#include <criterion/criterion.h>
#include <pgflow/testkit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* <folder>/<package>/copyright with that text. */
static void add_file(const char *package, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, package);
    cr_assert_eq(mkdir(path, 0700), 0);
    strcat(path, "/copyright");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/license-audit-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    add_file("beta", "Format: copyright-format/1.0\nLicense: Expat\n");
    add_file("alpha", "GNU General Public License, version 2");
    add_file(".hidden", "nothing");
    add_file("no\xffname", "nothing");
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(audit, .init = make_folder, .fini = remove_folder);

static pgf_test *opened(const char *path)
{
    pgf_test *module = pgf_test_open(path);
    cr_assert_null(pgf_test_problem(module), "%s", pgf_test_problem(module));
    return module;
}

static void gives(pgf_test *module, const char *expected)
{
    cr_assert_str_eq(pgf_test_output(module), expected);
}

Test(hello, greets_and_signs)
{
    pgf_test *hello = opened(HELLO);

    cr_assert_eq(pgf_test_call(hello, "greet", "\"Ada\""), PGF_OK);
    gives(hello, "{\"hello\": \"Ada\"}");
    cr_assert_eq(pgf_test_call(hello, "sign", "{\"greet\": {\"hello\": \"Ada\"}}"), PGF_OK);
    gives(hello, "{\"letter\": {\"greet\": {\"hello\": \"Ada\"}}, \"from\": \"pgflow\"}");
    pgf_test_close(hello);
}

Test(audit, lists_the_files_of_a_folder_in_order)
{
    pgf_test *v1 = opened(AUDIT_V1);
    char run[256];
    char expected[512];
    snprintf(run, sizeof run, "{\"folder\": \"%s\"}", folder);
    snprintf(expected, sizeof expected,
             "[{\"package\":\"alpha\",\"file\":\"%s/alpha/copyright\"},"
             "{\"package\":\"beta\",\"file\":\"%s/beta/copyright\"}]",
             folder, folder);

    cr_assert_eq(pgf_test_call(v1, "list", run), PGF_OK);

    gives(v1, expected);
    pgf_test_close(v1);
}

Test(audit, lists_no_more_than_the_limit)
{
    pgf_test *v1 = opened(AUDIT_V1);
    char run[256];
    snprintf(run, sizeof run, "{\"folder\": \"%s\", \"limit\": 1}", folder);

    cr_assert_eq(pgf_test_call(v1, "list", run), PGF_OK);

    cr_assert_not_null(strstr(pgf_test_output(v1), "alpha"));
    cr_assert_null(strstr(pgf_test_output(v1), "beta"));
    pgf_test_close(v1);
}

Test(audit, refuses_a_limit_that_is_no_number)
{
    pgf_test *v1 = opened(AUDIT_V1);

    cr_assert_eq(pgf_test_call(v1, "list", "{\"limit\": \"all\"}"), PGF_PERMANENT);

    cr_assert_str_eq(pgf_test_error(v1),
                     "\"limit\" must be a number from 1; leave it out for all files");
    pgf_test_close(v1);
}

Test(audit, names_a_folder_that_is_missing)
{
    pgf_test *v1 = opened(AUDIT_V1);

    cr_assert_eq(pgf_test_call(v1, "list", "{\"folder\": \"/nonexistent\"}"), PGF_PERMANENT);

    cr_assert_str_eq(pgf_test_error(v1),
                     "cannot read the folder '/nonexistent': No such file or directory");
    pgf_test_close(v1);
}

Test(audit, scans_a_file)
{
    pgf_test *v1 = opened(AUDIT_V1);
    char element[256];
    snprintf(element, sizeof element, "{\"file\": \"%s/beta/copyright\", \"package\": \"beta\"}",
             folder);

    cr_assert_eq(pgf_test_call(v1, "scan", element), PGF_OK);

    gives(v1, "{\"package\":\"beta\",\"licenses\":[\"MIT\"],\"by\":\"dep5\"}");
    pgf_test_close(v1);
}

Test(audit, reports_a_file_that_went_away_and_goes_on)
{
    pgf_test *v1 = opened(AUDIT_V1);

    cr_assert_eq(pgf_test_call(v1, "scan", "{\"package\": \"x\", \"file\": \"/nonexistent/c\"}"),
                 PGF_OK);

    gives(v1, "{\"package\":\"x\",\"licenses\":[],\"unreadable\":\"No such file or directory\"}");
    pgf_test_close(v1);
}

Test(audit, refuses_an_element_that_list_did_not_make)
{
    pgf_test *v1 = opened(AUDIT_V1);

    cr_assert_eq(pgf_test_call(v1, "scan", "7"), PGF_PERMANENT);

    cr_assert_str_eq(pgf_test_error(v1),
                     "not an element of list: it has no \"package\" and \"file\"");
    pgf_test_close(v1);
}

static const char scans[] =
    "{\"scan\": [{\"package\": \"a\", \"licenses\": [\"MIT\", \"GPL-2.0-only\", \"ISC\"]},"
    "{\"package\": \"b\", \"licenses\": [\"GPL-2.0-only\"]}, {\"package\": \"c\", \"licenses\": "
    "[]},"
    "{\"package\": \"d\", \"licenses\": [], \"unreadable\": \"gone\"}],"
    "\"policy\": {\"families\": [\"copyleft\"], \"except\": [\"b\"]}}";

Test(audit, counts_packages_by_licence)
{
    pgf_test *v1 = opened(AUDIT_V1);

    cr_assert_eq(pgf_test_call(v1, "summary", scans), PGF_OK);

    gives(v1, "{\"packages\":4,\"unreadable\":1,\"unrecognised\":1,\"byLicense\":["
              "{\"license\":\"GPL-2.0-only\",\"packages\":2},"
              "{\"license\":\"ISC\",\"packages\":1},{\"license\":\"MIT\",\"packages\":1}]}");
    pgf_test_close(v1);
}

Test(audit, counts_families_in_version_two_once_a_package)
{
    pgf_test *v2 = opened(AUDIT_V2);

    cr_assert_eq(pgf_test_call(v2, "summary", scans), PGF_OK);

    cr_assert_not_null(strstr(pgf_test_output(v2), ",\"byFamily\":["
                                                   "{\"family\":\"copyleft\",\"packages\":2},"
                                                   "{\"family\":\"permissive\",\"packages\":1}]}"),
                       "%s", pgf_test_output(v2));
    pgf_test_close(v2);
}

Test(audit, summarises_no_files)
{
    pgf_test *v1 = opened(AUDIT_V1);

    cr_assert_eq(pgf_test_call(v1, "summary", "{\"scan\": []}"), PGF_OK);

    gives(v1, "{\"packages\":0,\"unreadable\":0,\"unrecognised\":0,\"byLicense\":[]}");
    pgf_test_close(v1);
}

Test(audit, flags_copyleft_packages_but_the_excepted_ones)
{
    pgf_test *v2 = opened(AUDIT_V2);

    cr_assert_eq(pgf_test_call(v2, "flag_copyleft", scans), PGF_OK);

    gives(v2, "{\"flagged\":1,\"packages\":[{\"package\":\"a\",\"licenses\":[\"GPL-2.0-only\"]}]}");
    pgf_test_close(v2);
}

Test(audit, fills_in_the_policys_defaults)
{
    pgf_test *v2 = opened(AUDIT_V2);

    cr_assert_eq(pgf_test_call(v2, "policy", "{\"policy\": {}}"), PGF_OK);

    gives(v2, "{\"families\":[\"copyleft\"],\"except\":[]}");
    pgf_test_close(v2);
}

Test(audit, refuses_a_policy_with_an_unknown_family)
{
    pgf_test *v2 = opened(AUDIT_V2);

    cr_assert_eq(pgf_test_call(v2, "policy", "{\"policy\": {\"families\": [\"viral\"]}}"),
                 PGF_PERMANENT);

    cr_assert_str_eq(pgf_test_error(v2), "policy.families has a member that is none of permissive, "
                                         "weak-copyleft, copyleft, public-domain and other");
    pgf_test_close(v2);
}

Test(audit, writes_the_report_in_markdown)
{
    pgf_test *v1 = opened(AUDIT_V1);
    char run[256];
    char path[128];
    char text[2048] = {0};
    snprintf(path, sizeof path, "%s/report.md", folder);
    snprintf(run, sizeof run, "{\"folder\": \"/d\", \"report\": \"%s\"}", path);

    pgf_test_set_flow_input(v1, run);

    cr_assert_eq(
        pgf_test_call(v1, "report",
                      "{\"summary\": {\"packages\": 3, \"unreadable\": 1, \"unrecognised\": 0,"
                      "\"byLicense\": [{\"license\": \"GPL-2.0-only\", \"packages\": 60},"
                      "{\"license\": \"a|b\", \"packages\": 1}]}}"),
        PGF_OK);

    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    char expected[256];
    snprintf(expected, sizeof expected, "{\"file\":\"%s\",\"bytes\":%zu}", path, size);
    gives(v1, expected);
    cr_assert_not_null(
        strstr(text, "3 packages under `/d`: 0 without a recognised licence, 1 unreadable."));
    cr_assert_not_null(strstr(text, "| a\\|b | 1 | \xe2\x96\x88 |\n"));
    pgf_test_close(v1);
}

Test(audit, names_a_report_that_cannot_be_written)
{
    pgf_test *v1 = opened(AUDIT_V1);

    pgf_test_set_flow_input(v1, "{\"report\": \"/nonexistent/r\"}");

    cr_assert_eq(pgf_test_call(v1, "report", "{\"summary\": {}}"), PGF_ERROR);

    cr_assert_str_eq(pgf_test_error(v1),
                     "cannot write '/nonexistent/r': No such file or directory");
    pgf_test_close(v1);
}
