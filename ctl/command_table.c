/*
 * All commands, in the order in which the help lists them.
 */
#include "ctl/command.h"

const struct command command_table[] = {
    {
        .name = "migrate",
        .arguments = "",
        .summary = "install or update the schema pgflow",
        .help =
            "Installs the schema that this program carries, or upgrades an earlier version\n"
            "while its hosts work. It first adds what is new, each statement in a transaction\n"
            "of its own that waits at most 100 ms for a lock, then replaces all functions in\n"
            "one transaction. You may run it again at any time, also from several places at\n"
            "once; if it was interrupted, it continues. Hosts of the release before continue\n"
            "until --contract, which is refused while one of them lives. --down returns to the\n"
            "version before. It is refused while something of the present version is used, or\n"
            "a host of it lives.\n",
        .needs_database = true,
        .examples = "pgflowctl migrate\n"
                    "pgflowctl migrate --status && echo up to date\n",
        .run = command_migrate,
        .options = {{"status", NULL, "only tell; exit 1 when something is missing"},
                    {"contract", NULL, "end the support of hosts of the version before"},
                    {"down", NULL, "go back to the version before"}},
    },
    {
        .name = "inspect",
        .arguments = "FILE.so",
        .summary = "show what a flow module contains",
        .help = "Loads the module in a throw-away process and shows its descriptor: flow, alias,\n"
                "queue mode, and each step with its queue. With --json the whole descriptor.\n"
                "Its build-id, or else its sha256, is what a deployment manifest names it by.\n",
        .least = 1,
        .most = 1,
        .examples = "pgflowctl inspect ./audit_v2.so\n"
                    "pgflowctl inspect ./audit_v2.so --json | jq -r .buildId\n",
        .run = command_inspect,
    },
    {
        .name = "new",
        .arguments = "NAME",
        .summary = "begin a flow: a folder that builds, has a test, and runs",
        .help =
            "Writes the folder NAME with a small flow, its build (CMake for C and C++, make and\n"
            "rustc without crates for Rust), a test of each step, a job for CI and a README.\n"
            "The alias is NAME and the concrete flow NAME_v1, so that a second version can\n"
            "follow. Files that exist are never overwritten.\n",
        .least = 1,
        .most = 1,
        .examples = "pgflowctl new my_flow\n"
                    "pgflowctl new my_flow --lang rust\n",
        .run = command_new,
        .options = {{"lang", "c|c++|rust", "in which language (default: c)"}},
    },
    {
        .name = "lint",
        .arguments = "FILE.so",
        .summary = "find what will trouble a module that loads",
        .help =
            "Finds extra exports, process-wide C++ statics, a descriptor made by code, text\n"
            "relocations, RPATH, missing names and libraries, tables left writable, a missing\n"
            "build-id, an executable stack and a file that others may change. It also tells\n"
            "whether a host would take the module. Each finding comes with its remedy, and any\n"
            "finding makes the exit status 1. Of the module only its constructors run, in a\n"
            "throw-away process.\n",
        .least = 1,
        .most = 1,
        .examples = "pgflowctl lint ./audit_v2.so\n"
                    "pgflowctl lint build/audit_v2.so --against released/audit_v2.so\n",
        .run = command_lint,
        .options = {{"against", "OLD.so", "compare with the released build, as compare does"}},
    },
    {
        .name = "compare",
        .arguments = "OLD.so NEW.so",
        .summary = "tell whether a new build of a flow may keep its slug",
        .help =
            "Reads the two files alone, and tells what the database would say of NEW where OLD\n"
            "is compiled and has open runs. Exit 0: the same slug is safe, or NEW has another\n"
            "slug and both run side by side. Exit 1: take a new slug; the differences are\n"
            "listed. Exit 78: the shape is the same, but a step has no contract text, so nothing\n"
            "tells whether its handler still reads and writes the same. Options may differ: the\n"
            "database keeps its own.\n",
        .least = 2,
        .most = 2,
        .examples = "pgflowctl compare released/audit_v2.so build/audit_v2.so\n",
        .run = command_compare,
    },
    {
        .name = "exec",
        .arguments = "FILE.so",
        .summary = "run one handler of a module, without a database",
        .help =
            "Calls the step in a process of its own, with the limits of a host (timeout, memory),\n"
            "and prints its result. stderr gets its output, the time in the handler and the\n"
            "memory of its process. Exit 0 if it gave a result, 1 if it failed or died.\n"
            "\n"
            "The input is what the step would get: the run's input for a step without\n"
            "dependencies, one element for a map, otherwise an object with the outputs of its\n"
            "dependencies.\n",
        .least = 1,
        .most = 1,
        .examples =
            "pgflowctl exec ./audit_v2.so --step scan --input '{\"path\": \"/usr\"}'\n"
            "pgflowctl exec ./audit_v2.so --step count --input @files.json --under valgrind\n",
        .run = command_exec,
        .options = {{"step", "STEP", "which step (default: the only one)"},
                    {"input", "JSON|@FILE|-", "its input (default: {}); - reads stdin"},
                    {"flow-input", "JSON|@FILE|-", "the run's input, where the step asks for it"},
                    {"repeat", "N", "N calls in one process, until one fails"},
                    {"attempt", "N", "which attempt it is told (default: 1)"},
                    {"under", "valgrind", "look for memory errors and leaks; exit 1 with any"},
                    {"handler-memory", "MIB",
                     "its limit of address space; 0: none (default: $PGFLOW_HANDLER_MEMORY, "
                     "--config, 512)"},
                    {"pass-env", "NAME,...", "variables of the environment it may see"}},
    },
    {
        .name = "start",
        .arguments = "FLOW",
        .summary = "start a run of an alias or of a concrete flow",
        .help =
            "Prints the id of the new run. With --wait it stays until the run has ended. It then\n"
            "exits with 0 if the run completed, and with 1 if it failed or was cancelled.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl start audit --input '{\"path\": \"/usr\"}'\n"
                    "id=$(pgflowctl start audit --input @input.json)\n"
                    "pgflowctl start audit --wait --output > report.json\n",
        .run = command_start,
        .options = {{"input", "JSON|@FILE|-", "the run's input (default: {}); - reads stdin"},
                    {"run-id", "UUID", "the id of the new run (default: a random one)"},
                    {"wait", NULL, "until the run has ended"},
                    {"output", NULL, "with --wait: print only the run's output"},
                    {"timeout", "S", "with --wait: give up after S seconds, exit 1"}},
    },
    {
        .name = "runs",
        .arguments = "",
        .summary = "list runs, the newest first",
        .help =
            "Prints one line for each run: its status, the tasks done, when it started and how\n"
            "long it took.\n",
        .needs_database = true,
        .examples = "pgflowctl runs --flow audit --status failed\n"
                    "pgflowctl runs --watch\n",
        .run = command_runs,
        .options = {{"flow", "FLOW", "only runs of this concrete flow or alias"},
                    {"status", "started|completed|failed|cancelled", "only these"},
                    {"limit", "N", "at most N runs (default: 20)"},
                    {"watch", NULL, "again every two seconds, until interrupted"}},
    },
    {
        .name = "run",
        .arguments = "RUN",
        .summary = "show one run with its steps",
        .help = "With --output it prints only the run's output, as JSON.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl run 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10\n"
                    "pgflowctl run 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 --output | jq .\n",
        .run = command_run,
        .options = {{"output", NULL, "print only the run's output"}},
    },
    {
        .name = "cancel",
        .arguments = "RUN",
        .summary = "cancel a run",
        .help = "Drops the waiting tasks of the run and tells its running handlers to stop. A run\n"
                "that has ended stays as it is, and the exit status is 1.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples =
            "pgflowctl cancel 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 --reason 'wrong input'\n",
        .run = command_cancel,
        .options = {{"reason", "TEXT", "recorded with the run (default: cancelled by USER)"}},
    },
    {
        .name = "workers",
        .arguments = "",
        .summary = "list worker processes",
        .help = "Lists live workers, what they serve, and how old their last heartbeat is.\n",
        .needs_database = true,
        .examples = "pgflowctl workers --queue audit --watch\n"
                    "pgflowctl workers --all --json | jq '.[].info.modules'\n",
        .run = command_workers,
        .options = {{"queue", "QUEUE", "only workers of this queue"},
                    {"all", NULL, "those that have stopped or fell silent, too"},
                    {"watch", NULL, "again every two seconds, until interrupted"}},
    },
    {
        .name = "queue",
        .arguments = "[QUEUE]",
        .summary = "show what waits and what runs on the queues",
        .help =
            "Prints one line for each flow and step with live tasks: how many are ready, delayed\n"
            "and started, how long the oldest ready one has waited, and how many live workers\n"
            "the queue has.\n",
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl queue --watch\n"
                    "pgflowctl queue audit\n",
        .run = command_queue,
        .options = {{"watch", NULL, "again every two seconds, until interrupted"}},
    },
    {
        .name = "metrics",
        .arguments = "",
        .summary = "print the state of the whole database for Prometheus",
        .help =
            "Prints every queue (its tasks, the age of the oldest, its workers) and every worker\n"
            "function in the text format of Prometheus. It needs no host, so it also reports a\n"
            "queue that has lost all of its hosts. Write its output into a file for the textfile\n"
            "collector of node_exporter. Hosts with --metrics-listen serve the same lines.\n",
        .needs_database = true,
        .examples = "pgflowctl metrics >pgflow.prom.new && mv pgflow.prom.new pgflow.prom\n",
        .run = command_metrics,
    },
    {
        .name = "functions",
        .arguments = "[enable|disable|deprecate|unpin|delete FUNCTION...]",
        .summary = "list worker functions, or change them",
        .help =
            "enable     lets workers of the functions start, and clears a pause. Refused (exit\n"
            "           1) while an open deployment has fenced one of them\n"
            "disable    stops their workers and keeps new ones from starting\n"
            "deprecate  tells their live workers to finish their tasks and end. Refused\n"
            "           (exit 1) while one is enabled, because its old code would come back\n"
            "unpin      lets any modules serve, not only those of the applied manifest: for a\n"
            "           hot fix, until the next manifest is applied\n"
            "delete     deletes disabled functions that have no live worker\n",
        .most = INVOCATION_ARGUMENTS,
        .needs_database = true,
        .examples = "pgflowctl functions\n"
                    "pgflowctl functions disable pgflow-host/audit\n"
                    "pgflowctl functions deprecate pgflow-host/audit\n"
                    "pgflowctl functions enable pgflow-host/audit\n"
                    "pgflowctl functions unpin pgflow-host/audit\n"
                    "pgflowctl functions delete pgflow-host/trial\n",
        .run = command_functions,
        .options = {{"force", NULL, "enable what is fenced, deprecate what is enabled"}},
    },
    {
        .name = "aliases",
        .arguments = "",
        .summary = "list aliases and the versions behind them",
        .help = "Prints one line for each concrete flow: active, draining, drained or retired.\n",
        .needs_database = true,
        .examples = "pgflowctl aliases\n",
        .run = command_aliases,
    },
    {
        .name = "activate",
        .arguments = "ALIAS FLOW",
        .summary = "let new runs of an alias use this concrete flow",
        .help =
            "Refused (exit 1) while a queue of the flow has no live worker that supports it. To\n"
            "roll back, run the same command with the older version.\n",
        .least = 2,
        .most = 2,
        .needs_database = true,
        .examples = "pgflowctl activate audit audit_v2\n"
                    "pgflowctl activate audit audit_v1\n",
        .run = command_activate,
        .options = {{"force", NULL, "although workers are missing: tasks wait for them"}},
    },
    {
        .name = "coverage",
        .arguments = "QUEUE",
        .summary = "show what the workers of a queue must support, and whether they do",
        .help =
            "Prints one line for each required step, with the reasons and its live workers. Exit\n"
            "1 if a step has no worker, or if a live worker of the queue lacks a step: every\n"
            "worker of a queue must support every message on it.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl coverage audit || echo do not deploy\n",
        .run = command_coverage,
    },
    {
        .name = "graph",
        .arguments = "FLOW|FILE.so",
        .summary = "draw the steps of a flow, as Mermaid or Graphviz text",
        .help = "Shows each step with what it waits for. A map has a double frame; a step with a\n"
                "condition has another shape or dashes. Queues are shown if there are several. A\n"
                "FILE.so needs no database; an alias stands for its active version.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .is_offline = command_graph_is_offline,
        .examples = "pgflowctl graph audit\n"
                    "pgflowctl graph ./audit_v2.so --format dot | dot -Tsvg > audit.svg\n",
        .run = command_graph,
        .options = {{"format", "mermaid|dot", "for which program (default: mermaid)"}},
    },
    {
        .name = "options",
        .arguments = "FILE.so",
        .summary = "compare a module's options with the stored ones, or apply them",
        .help =
            "Attempts, delays and timeouts of a flow stay as they were compiled, whatever a newer\n"
            "module says. Prints each difference; exit 1 if there is one, otherwise 0. --apply\n"
            "stores the options of the module, for claims from then on. A module of another\n"
            "structure is refused, because it is another flow.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl options ./audit_v2.so\n"
                    "pgflowctl options ./audit_v2.so --apply\n",
        .run = command_options,
        .options = {{"apply", NULL, "store the module's options"}},
    },
    {
        .name = "drain",
        .arguments = "FLOW",
        .summary = "show what work a version of a flow still has",
        .help = "Exit 0 if the version may be retired. Otherwise prints the reasons; exit 1.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl drain audit_v1\n"
                    "pgflowctl drain audit_v1 --wait --timeout 3600 && pgflowctl retire audit_v1\n",
        .run = command_drain,
        .options = {{"wait", NULL, "until it is safe to retire, showing progress"},
                    {"timeout", "S", "with --wait: give up after S seconds, exit 1"}},
    },
    {
        .name = "retire",
        .arguments = "FLOW",
        .summary = "take a drained concrete flow out of service",
        .help =
            "Refused (exit 1), with the reasons, while the version may not be retired; this is\n"
            "checked once more under lock. Its history stays. New starts on it are refused.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl retire audit_v1\n"
                    "pgflowctl retire audit_v1 --undo\n",
        .run = command_retire,
        .options = {{"undo", NULL, "take a retired flow back into service"}},
    },
    {
        .name = "delete",
        .arguments = "FLOW",
        .summary = "delete a concrete flow with its runs, tasks and own queues",
        .help =
            "Deletion cannot be undone and needs --yes. Without it, shows what would be deleted;\n"
            "exit 1. Refused (exit 1), with the reasons, while runs of the flow have not ended,\n"
            "another name points at it, or a live host carries it. --force deletes it in spite\n"
            "of that, with its running runs: an alias returns to the version before, and hosts\n"
            "of its own queues end. Other flows on a shared queue are left untouched.\n",
        .least = 1,
        .most = 1,
        .needs_database = true,
        .examples = "pgflowctl delete audit_v1\n"
                    "pgflowctl delete audit_v1 --yes\n",
        .run = command_delete,
        .options = {{"yes", NULL, "delete it"},
                    {"force", NULL, "although it is in use: its runs are lost"}},
    },
    {
        .name = "doctor",
        .arguments = "",
        .summary = "find what stops work, and say what to do",
        .help =
            "Checks the connection, pooler, LISTEN, clocks, schema and version, server, roles,\n"
            "queues, what blocks vacuum, paused functions, missing workers and stuck work. Exit\n"
            "1 if there is a problem. A warning may be meant; a note says what could not be\n"
            "checked. It changes nothing, so you can run it before every deployment. Of many\n"
            "similar findings it shows five.\n",
        .needs_database = true,
        .runs_without_one = true,
        .examples = "pgflowctl doctor\n"
                    "pgflowctl doctor --strict && ./deploy\n",
        .run = command_doctor,
        .options = {{"strict", NULL, "exit 1 with a warning, too"},
                    {"all", NULL, "every finding, however many are alike; --json has them all"},
                    {"transaction-age", "S",
                     "report transactions open for longer than S seconds (default: 300)"}},
    },
    {
        .name = "prune",
        .arguments = "",
        .summary = "delete runs that ended long ago",
        .help =
            "Deletes runs with their tasks, messages and archives, and workers that have been\n"
            "silent for as long, in batches of one transaction each. Definitions stay, and so do\n"
            "runs that have not ended. This cannot be undone.\n",
        .needs_database = true,
        .examples = "pgflowctl prune --older-than '30 days' --dry-run\n"
                    "pgflowctl prune --older-than '30 days'\n",
        .run = command_prune,
        .options = {{"older-than", "INTERVAL", "'30 days', '12 hours': how long ago they ended"},
                    {"dry-run", NULL, "only count them"},
                    {"batch", "N", "runs in one transaction (default: 1000)"}},
    },
    {
        .name = "rollout",
        .arguments = "MANIFEST.json check|sql|status|abort|close",
        .summary =
            "check a deployment manifest, print its steps, show where it stands, take it back",
        .help = "check    tells whether the database would load the manifest; exit 1 with reasons\n"
                "sql      prints the statements of this deployment for psql, in order; needs no\n"
                "         database\n"
                "status   shows the present step and what it waits for; exit 0 if all is done, or\n"
                "         if later deployments took over all its functions\n"
                "abort    takes the deployment back, stage by stage, until it must wait; run it\n"
                "         again then\n"
                "close    closes a deployment that nobody will continue. Refused while its fence\n"
                "         keeps a function disabled\n"
                "\n"
                "You take every step forward yourself. See docs/operations/rollout.md.\n",
        .least = 2,
        .most = 2,
        .needs_database = true,
        .is_offline = command_rollout_is_offline,
        .examples = "pgflowctl rollout deployment.json check\n"
                    "pgflowctl rollout deployment.json sql > deployment.sql\n"
                    "pgflowctl rollout deployment.json status\n"
                    "pgflowctl rollout deployment.json abort\n",
        .run = command_rollout,
    },
    {
        .name = "complete",
        .arguments = "",
        .summary = "for the completion scripts of the shells",
        .help =
            "Reads the words of a command line from stdin, each with a NUL behind it, and prints\n"
            "what can stand in the place of the last one.\n",
        .hidden = true,
        .connects_itself = true,
        .examples = "printf '%s\\0' pgflowctl start '' | pgflowctl complete\n",
        .run = command_complete,
    },
};

const size_t command_count = sizeof command_table / sizeof command_table[0];
