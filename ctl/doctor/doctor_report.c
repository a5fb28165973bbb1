/*
 * How a finding of the doctor is printed: lines for people, or an element of a JSON array.
 */
#include "ctl/doctor/doctor.h"
#include "ctl/plain.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

static const char *const level_names[DOCTOR_LEVELS] = {
    [DOCTOR_OK] = "ok",
    [DOCTOR_NOTE] = "note",
    [DOCTOR_WARNING] = "warning",
    [DOCTOR_PROBLEM] = "problem",
};
static const char *const level_colours[DOCTOR_LEVELS] = {
    [DOCTOR_OK] = "\x1b[32m",
    [DOCTOR_NOTE] = "\x1b[36m",
    [DOCTOR_WARNING] = "\x1b[33m",
    [DOCTOR_PROBLEM] = "\x1b[1;31m",
};

const char *doctor_level_name(enum doctor_level level)
{
    return level_names[level];
}

/* What comes from the database may be anything: it stays on its lines. */
static void print_lines(const char *text)
{
    for (;;) {
        size_t size = strcspn(text, "\n");
        plain_print_part(stdout, text, size);
        text += size;
        if (!*text)
            break;
        printf("\n%*s", DOCTOR_INDENT, "");
        text++;
    }
    printf("\n");
}

static void print_json(const char *check, enum doctor_level level, const char *finding,
                       const char *remedy, bool first)
{
    struct buf text;
    buf_init(&text, LIMIT_MIB);
    buf_puts(&text, first ? "[{\"check\": " : ",\n {\"check\": ");
    buf_put_json_string(&text, check, strlen(check));
    buf_printf(&text, ", \"level\": \"%s\", \"finding\": ", level_names[level]);
    buf_put_json_string(&text, finding, strlen(finding));
    buf_puts(&text, ", \"remedy\": ");
    if (remedy != NULL && *remedy)
        buf_put_json_string(&text, remedy, strlen(remedy));
    else
        buf_puts(&text, "null");
    buf_putc(&text, '}');
    (void)fputs(text.data, stdout);
    buf_free(&text);
}

void doctor_report(struct doctor *doctor, const char *check, enum doctor_level level,
                   const char *finding, const char *remedy)
{
    size_t before = 0;
    for (size_t i = 0; i < DOCTOR_LEVELS; i++)
        before += doctor->counts[i];
    doctor->counts[level]++;
    if (doctor->json) {
        print_json(check, level, finding, remedy, before == 0);
        return;
    }
    printf("%s%-7s%s  %-10s  ", doctor->colour ? level_colours[level] : "", level_names[level],
           doctor->colour ? "\x1b[0m" : "", check);
    print_lines(finding);
    if (remedy != NULL && *remedy) {
        printf("%*s-> ", DOCTOR_INDENT - 3, "");
        print_lines(remedy);
    }
    (void)fflush(stdout);
}
