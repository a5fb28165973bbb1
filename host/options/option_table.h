/*
 * The one table of pgflow-host's options. The command line, the environment, the configuration file
 * and --help all walk it, so that an option exists in all of them or in none.
 */
#ifndef PGFLOW_OPTIONS_OPTION_TABLE_H
#define PGFLOW_OPTIONS_OPTION_TABLE_H

#include <stddef.h>

enum option_kind {
    OPTION_TEXT,   /* char *, owned; NULL when not given */
    OPTION_LIST,   /* struct settings_list; may be repeated */
    OPTION_NUMBER, /* int, min to max */
    OPTION_SWITCH, /* bool; alone on the command line it means true */
    OPTION_CHOICE  /* int: the index in choices */
};

enum option_place {
    OPTION_ANYWHERE,
    OPTION_NOT_IN_FILE, /* command line and environment */
    OPTION_ON_COMMAND_LINE
};

struct option_spec {
    const char *name; /* without the leading dashes */
    enum option_kind kind;
    enum option_place place;
    size_t offset; /* in struct settings */
    int min, max;
    int fallback;               /* the default of a number or choice; switches start false */
    const char *const *choices; /* NULL-terminated */
    const char *value_name;     /* NULL for a switch */
    const char *section;        /* the heading above it in --help; NULL: that of the one before */
    const char *help;
};

extern const struct option_spec option_table[];
extern const size_t option_count;

/* The option of that name (without dashes), or NULL. */
const struct option_spec *option_find(const char *name);
size_t option_index(const struct option_spec *spec);

/* Writes "PGFLOW_" and the name in upper case with underscores. */
void option_environment_name(const struct option_spec *spec, char *buffer, size_t size);

/* The option that is written most like `name`, or NULL when none is near. */
const struct option_spec *option_nearest(const char *name);

#endif
