/*
 * The files that `pgflowctl new` writes, compiled in. In paths and contents my_flow
 * stands for the name of the flow.
 */
#ifndef PGFLOW_TEMPLATE_FILES_H
#define PGFLOW_TEMPLATE_FILES_H

#include <stddef.h>

struct template_file {
    const char *lang; /* "c", "c++", "rust" */
    const char *path; /* below the new folder */
    const char *text;
};

extern const struct template_file template_files[];
extern const size_t template_files_count;

#endif
