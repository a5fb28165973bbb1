/*
 * Bytes of a PostgreSQL server, notifications with any payload among them: a
 * real connection of lib/db over a socket to a server of ours, which greets
 * properly and then sends the input. Whatever it sends, every call is answered
 * once, a notification wakes the claim loop, and closing leaves nothing open.
 *
 * The input is a list of pieces: one byte says what follows. The server sends
 * them all after the greeting and then hangs up, so a run always ends.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "db/address.h"
#include "db/calls.h"
#include "db/db_private.h"
#include "log/log.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CALLS = 4, TURNS = 4000, PIECE_KINDS = 8 };

static int listener = -1;
static struct db_address *address;

struct meeting {
    uv_loop_t loop;
    uv_poll_t accepting;
    struct db *db;
    int server; /* the server's end; -1: none */
    const uint8_t *script;
    size_t script_size;
    bool greeted, hung_up, notified, up_once, is_closed;
    int answers, notifications;
};

/* ---- Leaks ---- */

/* libpq forgets a half-read result when the next message is broken; what it has
 * handed over is counted instead, so that none of ours is overlooked. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);
PGresult *__real_PQgetResult(PGconn *conn);
PGresult *__wrap_PQgetResult(PGconn *conn);
void __real_PQclear(PGresult *result);
void __wrap_PQclear(PGresult *result);

static long results_open;

const char *__lsan_default_suppressions(void)
{
    return "leak:libpq.so\n";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

PGresult *__wrap_PQgetResult(PGconn *conn)
{
    PGresult *result = __real_PQgetResult(conn);
    results_open += result != NULL;
    return result;
}

void __wrap_PQclear(PGresult *result)
{
    results_open -= result != NULL;
    __real_PQclear(result);
}

/* ---- The server's messages ---- */

static void put_message(struct buf *out, char type, const void *body, size_t size)
{
    uint32_t length = htonl((uint32_t)size + 4);
    buf_putc(out, type);
    buf_put(out, &length, sizeof length);
    buf_put(out, body, size);
}

static void put_parameter(struct buf *out, const char *name, const char *value)
{
    char body[128];
    size_t first = strlen(name) + 1;
    memcpy(body, name, first);
    memcpy(body + first, value, strlen(value) + 1);
    put_message(out, 'S', body, first + strlen(value) + 1);
}

/* One column of text, one row: what the greeting's statements answer. */
static void put_answer(struct buf *out, const char *value)
{
    char description[] = "\0\1c\0\0\0\0\0\0\0\0\0\0\31\377\377\377\377\377\377\0\0";
    struct buf row;
    uint32_t size = htonl((uint32_t)strlen(value));
    buf_init(&row, 1 << 16);
    buf_put(&row, "\0\1", 2);
    buf_put(&row, &size, sizeof size);
    buf_puts(&row, value);
    put_message(out, '1', "", 0);
    put_message(out, '2', "", 0);
    put_message(out, 'T', description, sizeof description - 1);
    put_message(out, 'D', row.data, row.size);
    put_message(out, 'C', "SELECT 1", 9);
    put_message(out, 'Z', "I", 1);
    buf_free(&row);
}

static void put_notification(struct buf *out, struct fuzz_input *input)
{
    struct buf body;
    char *channel = fuzz_text(input, 70), *payload = fuzz_text(input, 9000);
    buf_init(&body, 1 << 16);
    buf_put(&body, "\0\0\0\7", 4);
    buf_put(&body, channel, strlen(channel) + 1);
    buf_put(&body, payload, strlen(payload) + 1);
    put_message(out, 'A', body.data, body.size);
    buf_free(&body);
}

static void put_piece(struct buf *out, struct fuzz_input *input)
{
    static const char types[] = "123ACDEGHINRSTVWZcdnstv";
    char *text;
    switch (fuzz_byte(input) % PIECE_KINDS) {
    case 0:
        put_notification(out, input);
        break;
    case 1:
        put_answer(out, fuzz_text(input, 300));
        break;
    case 2:
        put_message(out, 'Z', "I", 1);
        break;
    case 3:
        text = fuzz_text(input, 400);
        buf_put(out, text, strlen(text));
        break;
    default: {
        char type = types[fuzz_below(input, sizeof types - 1)];
        size_t size = fuzz_below(input, 200);
        size = size < input->size ? size : input->size;
        put_message(out, type, input->data, size);
        input->data += size;
        input->size -= size;
    }
    }
}

static void send_all(struct meeting *meeting, struct buf *out)
{
    ssize_t sent = send(meeting->server, out->data, out->size, MSG_NOSIGNAL);
    (void)sent; /* the host may have hung up, or take less than all */
    buf_free(out);
}

/* Logged in, and the three statements of the greeting answered before they came. */
static void greet(struct meeting *meeting)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    put_message(&out, 'R', "\0\0\0\0", 4);
    put_parameter(&out, "server_version", "15.20");
    put_parameter(&out, "server_encoding", "UTF8");
    put_parameter(&out, "client_encoding", "UTF8");
    put_parameter(&out, "in_hot_standby", "off");
    put_parameter(&out, "default_transaction_read_only", "off");
    put_message(&out, 'K', "\0\0\0\1\0\0\0\2", 8);
    put_message(&out, 'Z', "I", 1);
    send_all(meeting, &out);
    meeting->greeted = true;
}

static void send_script(struct meeting *meeting)
{
    struct fuzz_input input = {meeting->script, meeting->script_size};
    struct buf out;
    buf_init(&out, 1 << 20);
    if (fuzz_byte(&input) % 8 != 7)
        for (int i = 0; i < 3; i++)
            put_answer(&out, "read committed");
    meeting->notified = input.size > 0 && input.data[0] % PIECE_KINDS == 0;
    for (int i = 0; input.size > 0 && i < 60; i++)
        put_piece(&out, &input);
    send_all(meeting, &out);
    shutdown(meeting->server, SHUT_WR);
    meeting->hung_up = true;
}

/* ---- The host's side ---- */

static void on_answer(void *ctx, const struct db_status *status)
{
    struct meeting *meeting = ctx;
    FUZZ_CHECK(status->text != NULL);
    meeting->answers++;
}

static void on_claim(void *ctx, const struct db_status *status, const struct db_claim *claim)
{
    (void)claim;
    on_answer(ctx, status);
}

static void on_up(void *ctx)
{
    struct meeting *meeting = ctx;
    const struct db_pairs none = {NULL, 0};
    if (meeting->up_once)
        return;
    meeting->up_once = true;
    db_mark_worker_stopped(meeting->db, "w", on_answer, meeting);
    db_read_and_claim_tasks(meeting->db, "q", 1, 5, "w", none, DB_CLAIM_BEHIND_RESULTS, on_claim,
                            meeting);
    db_track_worker_function(meeting->db, "f", on_answer, meeting);
    db_read_and_claim_tasks(meeting->db, "q", 1, 5, "w", none, DB_CLAIM_BEHIND_RESULTS, on_claim,
                            meeting);
}

static void on_down(void *ctx, const char *reason)
{
    (void)ctx;
    FUZZ_CHECK(reason != NULL);
}

static void on_notify(void *ctx)
{
    ((struct meeting *)ctx)->notifications++;
}

static void on_fatal(void *ctx, const struct error *error)
{
    (void)ctx;
    FUZZ_CHECK(error->text[0] != '\0');
}

static void on_closed(void *ctx)
{
    ((struct meeting *)ctx)->is_closed = true;
}

/* Reads what the host said; the first bytes are its startup message. */
static void hear(struct meeting *meeting)
{
    char bytes[8192];
    ssize_t got = recv(meeting->server, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0)
        return;
    if (!meeting->greeted)
        greet(meeting);
    else if (!meeting->hung_up)
        send_script(meeting);
}

static void take_connection(struct meeting *meeting)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (meeting->server >= 0)
        close(fd);
    else
        meeting->server = fd;
}

static void start(struct meeting *meeting, const uint8_t *data, size_t size)
{
    struct error error = {0};
    struct db_config config = {.address = address,
                               .application_name = "fuzz",
                               .listen_queue = NULL,
                               .connections = 1,
                               .statement_deadline_ms = 60000,
                               .ctx = meeting,
                               .on_up = on_up,
                               .on_down = on_down,
                               .on_notify = on_notify,
                               .on_fatal = on_fatal};
    *meeting = (struct meeting){.server = -1, .script = data, .script_size = size};
    FUZZ_CHECK(uv_loop_init(&meeting->loop) == 0);
    meeting->db = db_open(&meeting->loop, &config, &error);
    FUZZ_CHECK(meeting->db != NULL);
}

static void finish(struct meeting *meeting)
{
    if (meeting->server >= 0)
        close(meeting->server);
    db_close(meeting->db, on_closed, meeting);
    for (int i = 0; i < TURNS && !meeting->is_closed; i++)
        uv_run(&meeting->loop, UV_RUN_NOWAIT);
    uv_run(&meeting->loop, UV_RUN_NOWAIT);
    FUZZ_CHECK(meeting->is_closed);
    FUZZ_CHECK(uv_loop_close(&meeting->loop) == 0);
    FUZZ_CHECK(results_open == 0);
    FUZZ_CHECK(meeting->answers == (meeting->up_once ? CALLS : 0));
    FUZZ_CHECK(!meeting->notified || !meeting->up_once || meeting->notifications > 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    struct error error = {0};
    char url[128];
    (void)argc;
    (void)argv;
    clearenv();
    log_open(STDERR_FILENO, LOG_FORMAT_LOGFMT, LOG_LEVEL_FATAL);
    /* In the abstract namespace: no file is left behind, whatever happens. */
    (void)snprintf(where.sun_path, sizeof where.sun_path, "#pgflow-fuzz-%d/.s.PGSQL.5432",
                   (int)getpid());
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(where.sun_path));
    where.sun_path[0] = '\0';
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FUZZ_CHECK(bind(listener, (struct sockaddr *)&where, size) == 0);
    FUZZ_CHECK(listen(listener, 8) == 0);
    (void)snprintf(url, sizeof url, "host=@pgflow-fuzz-%d port=5432 user=u dbname=d",
                   (int)getpid());
    address = db_address_create(url, &error);
    FUZZ_CHECK(address != NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meeting meeting;
    start(&meeting, data, size);
    /* No turn waits: the two ends take turns until the host has seen the end. */
    for (int i = 0; i < TURNS && !(meeting.hung_up && db_calls_pending(meeting.db) == 0); i++) {
        uv_run(&meeting.loop, UV_RUN_NOWAIT);
        take_connection(&meeting);
        if (meeting.server >= 0)
            hear(&meeting);
    }
    finish(&meeting);
    fuzz_free_all();
    return 0;
}
