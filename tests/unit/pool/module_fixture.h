/*
 * A folder for module files, a store of copies below it, and modules that are opened from there.
 */
#ifndef PGFLOW_TEST_MODULE_FIXTURE_H
#define PGFLOW_TEST_MODULE_FIXTURE_H

#include "module/module_file.h"

#include <criterion/criterion.h>

extern char fixture_folder[64];
extern char fixture_store_folder[96]; /* below it */
extern int fixture_runner;
extern struct module_store *fixture_store;
extern struct error fixture_error;

void fixture_begin(void);
void fixture_end(void);

/* In fixture_store_folder. */
struct module_store *fixture_open_store(bool allow_writable);

const char *in_plugins(const char *name);
const char *in_folder(const char *name); /* two at a time */
void copy(const char *from, const char *to);
/* printf-like; must end with status 0. Works in the folder. */
void shell(const char *format, ...) PRINTF_LIKE(1, 2);

struct module_file *open_fine(const char *path);
/* The error begins with the path as given, and goes on with `text`. */
void expect_refused(const char *path, const char *text);

#endif
