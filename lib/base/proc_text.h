/*
 * Numbers in the text files of /proc.
 */
#ifndef PGFLOW_BASE_PROC_TEXT_H
#define PGFLOW_BASE_PROC_TEXT_H

#include <stdbool.h>

/* Field `number` of /proc/<pid>/stat, counted as in proc_pid_stat(5), from 4 (the parent) on. The
 * name of the program, field 2, may hold anything, so the count starts behind its last ')'. False
 * when the text has no such number. */
bool proc_stat_number(const char *text, int number, unsigned long long *value);

/* The unsigned number, in `base`, at *text after blanks; *text moves behind it. False, and *text
 * stays, when there is none. */
bool proc_take_number(const char **text, int base, unsigned long long *value);

/* *text behind the next word and the blanks before it; false at the end of the text. */
bool proc_skip_word(const char **text);

#endif
