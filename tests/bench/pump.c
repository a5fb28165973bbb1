/* SPDX-License-Identifier: Apache-2.0
 * The bench's other client: what a program of a few lines gets out of the same PostgreSQL, on one
 * connection, with prepared statements. Prints {"count": N, "seconds": S} for the part it timed.
 *
 *     bench_pump URL drain QUEUE WIDTH single|array   read(WIDTH), then archive, until it is empty
 *     bench_pump URL move QUEUE COUNT FILE            send(FILE's text), read(1), archive, singly
 *     bench_pump URL start FLOW COUNT FILE            start_flow, one by one
 *     bench_pump URL starts FLOW COUNT WIDTH FILE     start_flows, WIDTH runs at a time
 *
 * Called by tests/bench/run only. It measures, so nothing in its loops may cost more than a round
 * trip. */
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READ_VT "30"
#define NUMBER_SIZE 24

static PGconn *conn;

static void fail(const char *what)
{
    fprintf(stderr, "bench_pump: %s: %s", what, PQerrorMessage(conn));
    exit(EXIT_FAILURE);
}

static void *must_have(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "bench_pump: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void prepare(const char *name, const char *sql)
{
    PGresult *result = PQprepare(conn, name, sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail(name);
    PQclear(result);
}

/* The rows of a prepared statement; the caller clears them. */
static PGresult *call(const char *name, int count, const char *const *values)
{
    PGresult *result = PQexecPrepared(conn, name, count, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail(name);
    return result;
}

static long number(const char *text)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1) {
        fprintf(stderr, "bench_pump: not a positive number: %s\n", text);
        exit(EXIT_FAILURE);
    }
    return value;
}

/* The text of a file, NUL-terminated; lives as long as the program. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    long size = ftell(file);
    rewind(file);
    char *text = must_have(calloc(1, (size_t)size + 1));
    if (fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    (void)fclose(file);
    return text;
}

static void archive_one(const char *queue, const char *id)
{
    const char *values[] = {queue, id};
    PQclear(call("archive_one", 2, values));
}

static void archive_rows(const char *queue, const PGresult *rows, char *ids)
{
    char *at = ids;
    for (int i = 0; i < PQntuples(rows); i++)
        at += snprintf(at, NUMBER_SIZE, "%c%s", i == 0 ? '{' : ',', PQgetvalue(rows, i, 0));
    snprintf(at, NUMBER_SIZE, "}");

    const char *values[] = {queue, ids};
    PQclear(call("archive_many", 2, values));
}

static void prepare_queue(void)
{
    prepare("send", "select * from pgmq.send($1::text, $2::jsonb)");
    prepare("read", "select msg_id, message from pgmq.read($1::text, " READ_VT ", $2::int)");
    prepare("archive_one", "select pgmq.archive($1::text, $2::bigint)");
    prepare("archive_many", "select pgmq.archive($1::text, $2::bigint[])");
}

static long drain(const char *queue, const char *width, bool singly)
{
    const char *values[] = {queue, width};
    char *ids = must_have(malloc(((size_t)number(width) + 1) * NUMBER_SIZE));
    long done = 0;
    int rows = 0;
    do {
        PGresult *read = call("read", 2, values);
        rows = PQntuples(read);
        for (int i = 0; i < rows && singly; i++)
            archive_one(queue, PQgetvalue(read, i, 0));
        if (rows > 0 && !singly)
            archive_rows(queue, read, ids);
        PQclear(read);
        done += rows;
    } while (rows > 0);
    free(ids);
    return done;
}

static long move(const char *queue, long count, const char *text)
{
    const char *send[] = {queue, text};
    const char *one[] = {queue, "1"};
    for (long i = 0; i < count; i++) {
        PQclear(call("send", 2, send));
        PGresult *read = call("read", 2, one);
        if (PQntuples(read) != 1)
            fail("the message sent is not there");
        archive_one(queue, PQgetvalue(read, 0, 0));
        PQclear(read);
    }
    return count;
}

static long start(const char *flow, long count, const char *input)
{
    const char *values[] = {flow, input};
    for (long i = 0; i < count; i++)
        PQclear(call("start", 2, values));
    return count;
}

/* An array literal of `width` times the same text. */
static char *array_of(const char *text, long width)
{
    size_t length = strlen(text);
    char *array = must_have(malloc((size_t)width * (2 * length + 3) + 3));
    char *at = array;
    *at++ = '{';
    for (long i = 0; i < width; i++) {
        if (i > 0)
            *at++ = ',';
        *at++ = '"';
        for (size_t k = 0; k < length; k++) {
            if (text[k] == '"' || text[k] == '\\')
                *at++ = '\\';
            *at++ = text[k];
        }
        *at++ = '"';
    }
    *at++ = '}';
    *at = '\0';
    return array;
}

static long starts(const char *flow, long count, long width, const char *input)
{
    char *inputs = array_of(input, width);
    const char *values[] = {flow, inputs};
    long done = 0;
    for (; done < count; done += width)
        PQclear(call("starts", 2, values));
    free(inputs);
    return done;
}

/* Arguments from the verb on; false when they are not a call that this program knows. */
static bool pump(int argc, char **argv)
{
    const char *verb = argc > 0 ? argv[0] : "";
    long count = 0;
    char *text = NULL;
    double began = 0;

    if (strcmp(verb, "drain") == 0 && argc == 4) {
        prepare_queue();
        began = now();
        count = drain(argv[1], argv[2], strcmp(argv[3], "single") == 0);
    } else if (strcmp(verb, "move") == 0 && argc == 4) {
        prepare_queue();
        text = read_file(argv[3]);
        began = now();
        count = move(argv[1], number(argv[2]), text);
    } else if (strcmp(verb, "start") == 0 && argc == 4) {
        prepare("start", "select run_id from pgflow.start_flow($1::text, $2::jsonb)");
        text = read_file(argv[3]);
        began = now();
        count = start(argv[1], number(argv[2]), text);
    } else if (strcmp(verb, "starts") == 0 && argc == 5) {
        prepare("starts", "select * from pgflow.start_flows($1::text, $2::jsonb[])");
        text = read_file(argv[4]);
        began = now();
        count = starts(argv[1], number(argv[2]), number(argv[3]), text);
    } else {
        return false;
    }
    printf("{\"count\": %ld, \"seconds\": %.6f}\n", count, now() - began);
    free(text);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_pump URL drain|move|start|starts ARGS...\n");
        return 64;
    }
    conn = PQconnectdb(argv[1]);
    if (PQstatus(conn) != CONNECTION_OK)
        fail("connect");
    bool known = pump(argc - 2, argv + 2);
    PQfinish(conn);
    if (!known)
        fprintf(stderr, "bench_pump: unknown call: %s\n", argv[2]);
    return known ? EXIT_SUCCESS : 64;
}
