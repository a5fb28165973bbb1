/*
 * A deployment manifest, and the SQL that `pgflowctl rollout MANIFEST sql` makes
 * of it: an operator pastes it into psql, so nothing of the manifest may stand
 * outside of a literal.
 */
#include "fuzz.h"

#include "ctl/rollout/manifest.h"
#include "ctl/rollout/rollout_sequence.h"
#include "sql/rollout_texts.h"

#include <string.h>

/* The text with every literal (and :'name' of psql) replaced by ''. */
static void put_skeleton(struct buf *out, const char *sql)
{
    while (*sql) {
        if (strncmp(sql, "--", 2) == 0) {
            size_t size = strcspn(sql, "\n");
            buf_put(out, sql, size);
            sql += size;
        } else if (*sql == '\'' || strncmp(sql, ":'", 2) == 0) {
            sql += *sql == ':' ? 2 : 1;
            for (; *sql && (*sql != '\'' || sql[1] == '\''); sql++)
                sql += *sql == '\'';
            FUZZ_CHECK(*sql == '\'');
            sql++;
            buf_puts(out, "''");
        } else {
            buf_putc(out, *sql++);
        }
    }
}

static bool is_known_line(const struct buf *known, const char *line, size_t size)
{
    if (size == 0 || (size > 2 && strncmp(line, "--", 2) == 0))
        return true;
    for (const char *at = known->data; (at = memmem(at, strlen(at), line, size)); at++)
        if ((at == known->data || at[-1] == '\n') && at[size] == '\n')
            return true;
    return false;
}

static void check_sequence(const struct manifest *manifest)
{
    static struct buf known;
    struct buf sql, skeleton;
    if (known.maximum == 0) {
        buf_init(&known, 1 << 20);
        for (size_t i = 0; i < rollout_texts_count; i++)
            put_skeleton(&known, rollout_texts[i].sql);
        buf_putc(&known, '\n');
    }
    buf_init(&sql, 1 << 28);
    buf_init(&skeleton, 1 << 28);
    rollout_sequence_put(&sql, manifest);
    FUZZ_CHECK(buf_ok(&sql));
    put_skeleton(&skeleton, sql.data);
    for (const char *line = skeleton.data; *line;) {
        size_t size = strcspn(line, "\n");
        FUZZ_CHECK(is_known_line(&known, line, size));
        line += size + (line[size] == '\n');
    }
    buf_free(&sql);
    buf_free(&skeleton);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest manifest;
    struct error error = {0};
    if (manifest_read(&manifest, fuzz_file(data, size), &error)) {
        FUZZ_CHECK(manifest.deployment && *manifest.deployment);
        /* A flow a line of output: keep the product of both small. */
        if (manifest_count(&manifest) <= 64)
            check_sequence(&manifest);
        manifest_free(&manifest);
    } else {
        FUZZ_CHECK(error.code == ERROR_USAGE && error.text[0] != '\0');
    }
    return 0;
}
