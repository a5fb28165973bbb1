/*
 * Reads the command line of pgflow-runner.
 */
#include "runner/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
    OPTION_INSPECT = 1,
    OPTION_RUN,
    OPTION_PRELOAD,
    OPTION_SEALED,
    OPTION_PARENT,
    OPTION_MAX_PAYLOAD,
    OPTION_MEMORY,
    OPTION_FILES,
    OPTION_CORE,
    OPTION_UID,
    OPTION_GID,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"inspect", required_argument, NULL, OPTION_INSPECT},
    {"run", required_argument, NULL, OPTION_RUN},
    {"preload", required_argument, NULL, OPTION_PRELOAD},
    {"sealed", no_argument, NULL, OPTION_SEALED},
    {"parent", required_argument, NULL, OPTION_PARENT},
    {"max-payload", required_argument, NULL, OPTION_MAX_PAYLOAD},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"files", required_argument, NULL, OPTION_FILES},
    {"core", no_argument, NULL, OPTION_CORE},
    {"uid", required_argument, NULL, OPTION_UID},
    {"gid", required_argument, NULL, OPTION_GID},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static const char usage[] = "usage: pgflow-runner --inspect FILE.so\n"
                            "Prints the descriptor of a flow module as JSON. (--run is started "
                            "by pgflow-host.)";

/* A number of at most `maximum`. */
static bool parse_number(const char *text, unsigned long long maximum, unsigned long long *number,
                         struct error *error)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || *number > maximum)
        return error_set(error, ERROR_USAGE, "'%s' is not a number up to %llu", text, maximum);
    return true;
}

static bool set_module(struct runner_options *options, enum runner_mode mode, struct error *error)
{
    if (options->module != NULL)
        return error_set(error, ERROR_USAGE, "one of --inspect and --run, once");
    options->mode = mode;
    options->module = optarg;
    return true;
}

static bool add_preload(struct runner_options *options, struct error *error)
{
    if (options->preload_count == RUNNER_LIBRARIES)
        return error_set(error, ERROR_USAGE, "more than %d --preload", RUNNER_LIBRARIES);
    options->preload[options->preload_count++] = optarg;
    return true;
}

static bool apply_number(struct runner_options *options, int id, struct error *error)
{
    unsigned long long maximum = UINT_MAX - 1;
    unsigned long long number;

    if (id == OPTION_MAX_PAYLOAD)
        maximum = (unsigned long long)LIMIT_PAYLOAD_MAX_MIB * LIMIT_MIB;
    else if (id == OPTION_MEMORY || id == OPTION_FILES)
        maximum = LLONG_MAX;
    else if (id == OPTION_PARENT)
        maximum = INT_MAX;
    if (!parse_number(optarg, maximum, &number, error))
        return false;
    if (id == OPTION_MAX_PAYLOAD)
        options->max_payload = (size_t)number;
    else if (id == OPTION_MEMORY)
        options->memory = (size_t)number;
    else if (id == OPTION_FILES)
        options->files = number;
    else if (id == OPTION_PARENT)
        options->parent = (pid_t)number;
    else if (id == OPTION_UID)
        options->uid = (uid_t)number;
    else
        options->gid = (gid_t)number;
    return true;
}

static bool apply_option(struct runner_options *options, int id, struct error *error)
{
    switch (id) {
    case OPTION_INSPECT:
        return set_module(options, RUNNER_INSPECT, error);
    case OPTION_RUN:
        return set_module(options, RUNNER_RUN, error);
    case OPTION_PRELOAD:
        return add_preload(options, error);
    case OPTION_SEALED:
        options->sealed = true;
        return true;
    case OPTION_CORE:
        options->core = true;
        return true;
    case OPTION_HELP:
        options->help = true;
        return true;
    case '?':
        return error_set(error, ERROR_USAGE, "%s", usage);
    default:
        return apply_number(options, id, error);
    }
}

void runner_options_print_help(void)
{
    printf("pgflow-runner maps one flow module and runs its handlers, one at a time.\n"
           "\n"
           "  pgflow-runner --inspect FILE.so\n"
           "\n"
           "  --inspect FILE   print the module's descriptor as JSON; exit 78 when it is refused\n"
           "  --preload FILE   map this library first; may be repeated\n"
           "  --help           this text\n"
           "\n"
           "Everything else (--run and its limits) is what pgflow-host says, over descriptors\n"
           "that it opens; see pgflow-runner(1).\n"
           "\n"
           "Examples\n"
           "    pgflow-runner --inspect ./audit_v2.so\n"
           "    pgflowctl inspect ./audit_v2.so    # the same, for people\n");
}

bool runner_options_parse(struct runner_options *options, int argc, char **argv,
                          struct error *error)
{
    int id;

    *options = (struct runner_options){
        .max_payload = LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB, .uid = (uid_t)-1, .gid = (gid_t)-1};
    opterr = 0;
    while ((id = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (!apply_option(options, id, error))
            return false;
    if (options->help)
        return true;
    if (options->module == NULL || optind != argc)
        return error_set(error, ERROR_USAGE, "%s", usage);
    return true;
}
