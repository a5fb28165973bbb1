/*
 * Every bound on what the host takes in, keeps and shows, in one place; each has
 * a test that crosses it. Sizes are bytes, times are what the suffix says. What
 * one file needs for itself (a pause, a stack, a table) stands there.
 */
#ifndef PGFLOW_BASE_LIMITS_H
#define PGFLOW_BASE_LIMITS_H

#define LIMIT_KIB 1024
#define LIMIT_MIB (1024 * 1024)

/* Text. */
#define LIMIT_ERROR_TEXT 4096    /* a struct error; a task's error text */
#define LIMIT_SLUG 128           /* flow, step and alias names, without the NUL */
#define LIMIT_QUEUE_NAME 47      /* PGMQ's own limit, without the NUL */
#define LIMIT_FUNCTION_NAME 256  /* worker_functions.function_name */
#define LIMIT_UUID_TEXT 36       /* without the NUL */
#define LIMIT_NEAREST_DISTANCE 3 /* edits beyond which no name is offered */
#define LIMIT_CONFIG_FILE LIMIT_MIB

/* Payloads and frames. */
#define LIMIT_PAYLOAD_DEFAULT_MIB 16
#define LIMIT_PAYLOAD_MAX_MIB 256 /* largest --max-payload: jsonb stops at 256 MiB anyway */
#define LIMIT_FRAME_OVERHEAD (64 * LIMIT_KIB) /* a frame: this plus two payloads */
#define LIMIT_JSON_DEPTH 512
#define LIMIT_TASK_STDERR (64 * LIMIT_KIB) /* logged of one task's stderr */
#define LIMIT_STDERR_TAIL (4 * LIMIT_KIB)  /* kept of it for the error of a died handler */

/* Modules. */
#define LIMIT_MODULES 64
#define LIMIT_STEPS 1000
#define LIMIT_DESCRIPTOR_PATTERN 65536
#define LIMIT_DESCRIPTOR_TEXT 4096
#define LIMIT_DESCRIPTOR_STRUCT 4096            /* a size that a module states for its structs */
#define LIMIT_DESCRIPTOR_JSON (256 * LIMIT_MIB) /* 1000 steps, all texts full, all dependencies */

/* Worker. */
#define LIMIT_CONCURRENCY 1000
#define LIMIT_BATCH 1000
#define LIMIT_BATCH_DEFAULT 100 /* beyond it a claim gets no cheaper by the task */
#define LIMIT_DB_CONNECTIONS 8
#define LIMIT_DB_SERVER 320 /* host name or folder, and port, as shown */
#define LIMIT_MISSING_PAIRS_SHOWN 20
#define LIMIT_DIFFERENCES_SHOWN 20 /* between a module and what the database has */
#define LIMIT_QUEUES_SHOWN 20      /* in a message; of the steps of a module likewise */
#define LIMIT_FOREIGN_IDS_SHOWN 20
#define LIMIT_RESULTS_BUFFERED_MIB 256 /* results kept while the database is away */
#define LIMIT_RESULTS_ISOLATED 1000    /* results it refuses that do not narrow the claims */

/* Log. */
#define LIMIT_LOG_LINE (16 * LIMIT_KIB)
#define LIMIT_LOG_VALUE (4 * LIMIT_KIB)
#define LIMIT_LOG_WAIT_MS 50 /* for a full pipe; then the line is dropped and counted */

/* HTTP, with --metrics-listen. */
#define LIMIT_HTTP_CONNECTIONS 32
/* With those that are dropped and not closed yet. */
#define LIMIT_HTTP_DESCRIPTORS (2 * LIMIT_HTTP_CONNECTIONS)
#define LIMIT_HTTP_REQUEST (16 * LIMIT_KIB) /* memory of a connection: its headers and ours */
#define LIMIT_HTTP_BODY (8 * LIMIT_MIB)     /* of an answer; beyond it: 500 */
#define LIMIT_HTTP_IDLE_S 5                 /* without a byte in either direction */

/* Database. */
#define LIMIT_DB_CALLS_QUEUED 256                   /* calls waiting on one connection */
#define LIMIT_DB_STATEMENT_BYTES (1023 * LIMIT_MIB) /* with its parameters: PostgreSQL's own */
/* Outputs in one finish_tasks of many items: libpq moves what it has not sent at each partial send.
 */
#define LIMIT_DB_FINISH_BYTES (8 * LIMIT_MIB)
#define LIMIT_DB_RECONNECT_MS 5000    /* longest pause between two attempts */
#define LIMIT_DB_CONNECT_ATTEMPT_S 10 /* one attempt */
#define LIMIT_DB_DEADLINE_MS 30000    /* a call without a deadline of its own */
#define LIMIT_DB_ADDRESSES 64         /* that the host names of one URL resolve to */

/* ---- Upgrade of the schema ---- */
#define LIMIT_UPGRADE_LOCK_MS 100     /* a statement that waits longer lets the others pass */
#define LIMIT_UPGRADE_QUIET_LOCK_S 10 /* the same for a lock that holds up no reader or writer */
#define LIMIT_UPGRADE_PATIENCE_S 600  /* for one statement, all attempts together */
#define LIMIT_UPGRADE_TELL_S 5        /* between two lines about what it waits for */

#endif
