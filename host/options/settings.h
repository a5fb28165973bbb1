/*
 * What the operator asked for, resolved: the options of pgflow-host after command line,
 * environment, configuration file and defaults were merged. Filled by cli/options.c, read by
 * everyone below it, changed by nobody (but for the queue and the function name, which startup
 * infers when not given).
 */
#ifndef PGFLOW_OPTIONS_SETTINGS_H
#define PGFLOW_OPTIONS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Owned strings, in the order given. Where there are any, a NULL stands behind the last: what
 * starts runners takes the names to pass as such a list. */
struct settings_list {
    char **items;
    size_t count;
};

enum settings_activate { ACTIVATE_AUTO, ACTIVATE_MANUAL };

struct settings {
    char *queue;                  /* NULL: that of the one module */
    struct settings_list plugins; /* paths, old versions first; at least one */
    char *database;               /* NULL: libpq's own PG* variables; never shown */
    char *function;               /* NULL: pgflow-host/<queue> */
    int concurrency;              /* handlers running at once */
    int batch_size;               /* widest claim; never 0 */
    int read_visibility;          /* s */
    int poll_interval;            /* ms */
    int db_connections;
    bool no_listen;
    bool pooled;
    int connect_timeout; /* s */
    int drain_timeout;   /* s */
    int activate;        /* enum settings_activate */
    struct settings_list adopt_queues;
    int handler_memory; /* MiB, 0: no limit */
    bool handler_core;
    char *handler_user; /* NULL: the host's */
    int runner_max_tasks;
    int runner_idle; /* s */
    struct settings_list pass_env;
    int max_payload;  /* MiB */
    char *module_dir; /* NULL: chosen at startup */
    bool allow_writable_plugins;
    bool exit_if_disabled;
    int log_format;       /* enum log_format */
    int log_level;        /* enum log_level */
    char *metrics_listen; /* ADDR:PORT, or NULL */
    bool check;
    bool once;
    int exit_when_idle; /* s, 0: never */
    char *config;       /* the file read, or NULL */
    bool help;
    bool version;
};

/* Frees what the strings and lists hold, not the struct. */
void settings_finish(struct settings *settings);

#endif
