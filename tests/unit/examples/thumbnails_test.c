/* The steps of thumbnails in this process: what they refuse, and that they stop when asked. */
#include <criterion/criterion.h>
#include <pgflow/testkit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 2 x 2 grey pixels of 8 bits: 10, 20, 30, 40. */
static const unsigned char grey[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
    0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x00, 0x00, 0x00, 0x00, 0x57,
    0xdd, 0x52, 0xf8, 0x00, 0x00, 0x00, 0x0e, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xe0,
    0x12, 0x61, 0x90, 0xd3, 0x00, 0x00, 0x00, 0xec, 0x00, 0x65, 0xe0, 0xf8, 0x5c, 0xd3, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

static pgf_test *flow;
static char folder[] = "/tmp/pgflow-thumbnails-XXXXXX";

static void path_of(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

/* The folder with grey.png and an output folder; the run's input names both. */
static void set_up(void)
{
    char path[128];
    char input[256];
    cr_assert_not_null(mkdtemp(folder));
    path_of(path, sizeof path, "out");
    cr_assert_eq(mkdir(path, 0700), 0);
    path_of(path, sizeof path, "grey.png");
    FILE *file = fopen(path, "w");
    cr_assert_eq(fwrite(grey, 1, sizeof grey, file), sizeof grey);
    (void)fclose(file);
    flow = pgf_test_open(THUMBNAILS);
    cr_assert_null(pgf_test_problem(flow), "%s", pgf_test_problem(flow));
    snprintf(input, sizeof input, "{\"folder\": \"%s\", \"output\": \"%s/out\", \"size\": 1}",
             folder, folder);
    pgf_test_set_flow_input(flow, input);
}

static void tear_down(void)
{
    static const char *const names[] = {"out/grey.png", "out", "grey.png", "."};
    char path[128];
    pgf_test_close(flow);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_of(path, sizeof path, names[i]);
        if (strcmp(names[i], ".") == 0)
            path[strlen(folder)] = '\0';
        if (remove(path) != 0 && i > 0) /* the thumbnail need not be there */
            cr_assert_fail("something was left in %s", path);
    }
}

TestSuite(thumbnails, .init = set_up, .fini = tear_down);

static void assert_refused(const char *step, const char *input, const char *error)
{
    cr_assert_eq(pgf_test_call(flow, step, input), PGF_PERMANENT, "%s %s", step, input);
    cr_assert_not_null(strstr(pgf_test_error(flow), error), "%s", pgf_test_error(flow));
}

Test(thumbnails, refuses_run_inputs_with_the_remedy)
{
    assert_refused("find_images", "{}", "needs \"folder\", the absolute path");
    assert_refused("find_images", "{\"folder\": \"photos\"}",
                   "needs \"folder\", the absolute path");
    assert_refused("find_images", "{\"folder\": \"/\"}", "needs \"output\", the absolute path");
    assert_refused("find_images", "{\"folder\": \"/\", \"output\": \"/\"}", "would replace images");
    assert_refused("find_images", "{\"folder\": \"/\", \"output\": \"/dev/null\"}",
                   "cannot make the folder '/dev/null'");
    assert_refused("find_images", "{\"folder\": \"/nowhere\", \"output\": \"/\"}",
                   "cannot read the folder '/nowhere': No such file or directory");
    assert_refused("find_images", "{\"size\": 0}", "from 1 to 4096");
    assert_refused("find_images", "{\"size\": 4097}", "from 1 to 4096");
    assert_refused("find_images", "{\"size\": \"256\"}", "from 1 to 4096");
}

Test(thumbnails, takes_names_of_files_and_no_paths)
{
    assert_refused("make_thumbnail", "\"../grey.png\"", "the name of a file");
    assert_refused("make_thumbnail", "\"out/../grey.png\"", "the name of a file");
    assert_refused("make_thumbnail", "\"\"", "the name of a file");
    assert_refused("make_thumbnail", "7", "the name of a file");
    assert_refused("make_thumbnail", "\"gone.png\"",
                   "'gone.png': it cannot be opened: No such file or directory");
}

Test(thumbnails, stops_between_rows_and_leaves_nothing_behind)
{
    char path[128];
    path_of(path, sizeof path, "out/grey.png");
    pgf_test_cancel_at(flow, 2); /* the first question comes before the file is opened */

    cr_assert_eq(pgf_test_call(flow, "make_thumbnail", "\"grey.png\""), PGF_CANCELLED);

    cr_assert_neq(access(path, F_OK), 0);
    pgf_test_cancel_at(flow, 0);
    cr_assert_eq(pgf_test_call(flow, "make_thumbnail", "\"grey.png\""), PGF_OK);
    cr_assert_eq(access(path, F_OK), 0);
}

Test(thumbnails, tries_again_when_the_output_folder_is_gone)
{
    char path[128];
    char gone[128];
    path_of(path, sizeof path, "out");
    path_of(gone, sizeof gone, "gone");
    cr_assert_eq(rename(path, gone), 0);

    cr_assert_eq(pgf_test_call(flow, "make_thumbnail", "\"grey.png\""), PGF_ERROR);

    cr_assert_eq(strcmp(pgf_test_error(flow), "'grey.png': cannot create a file in the output "
                                              "folder: No such file or directory"),
                 0, "%s", pgf_test_error(flow));
    cr_assert_eq(rename(gone, path), 0);
}

Test(thumbnails, removes_its_hidden_file_when_it_cannot_be_put_in_place)
{
    char path[128];
    path_of(path, sizeof path, "out/grey.png");
    cr_assert_eq(mkdir(path, 0700), 0);

    cr_assert_eq(pgf_test_call(flow, "make_thumbnail", "\"grey.png\""), PGF_ERROR);

    cr_assert_not_null(strstr(pgf_test_error(flow), "cannot put a file in place"), "%s",
                       pgf_test_error(flow));
    cr_assert_eq(rmdir(path), 0);
    path_of(path, sizeof path, "out");
    cr_assert_eq(rmdir(path), 0, "something is left in the output folder");
    cr_assert_eq(mkdir(path, 0700), 0);
}
