/*
 * Finds what handlers left behind; see orphans.h.
 */
#include "module/orphans.h"
#include "base/proc_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { END_MS = 1000, LOOK_AGAIN_MS = 2, PROC_TEXT = 8192 };

/* What is called for each child. */
struct visit {
    void (*visit)(struct visit *visit, pid_t pid);
    const struct orphans *orphans;
    orphans_is_ours is_ours;
    void *context;
    pid_t *list; /* of collect */
    size_t count;
    bool failed;
};

/* The beginning of a file of /proc, NUL-terminated; "" when there is none. */
static void read_proc(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);

    text[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

/* The children of one of our threads: "17 23 42 ". Of any length. */
static bool visit_children_of(struct visit *visit, const char *thread)
{
    char path[64];
    FILE *file;
    char *word = NULL;
    size_t room = 0;
    unsigned long long pid;

    snprintf(path, sizeof path, "/proc/self/task/%.16s/children", thread);
    file = fopen(path, "re");
    if (file == NULL)
        return errno != ENOENT;
    while (getdelim(&word, &room, ' ', file) > 0) {
        const char *place = word;

        if (proc_take_number(&place, 10, &pid))
            visit->visit(visit, (pid_t)pid);
    }
    free(word);
    (void)fclose(file);
    return true;
}

/* For a kernel without lists of children: whoever names us as the parent. */
static void visit_if_child(struct visit *visit, const char *name)
{
    char path[64];
    char text[512];
    unsigned long long parent;

    snprintf(path, sizeof path, "/proc/%.16s/stat", name);
    read_proc(path, text, sizeof text);
    if (proc_stat_number(text, 4, &parent) && (pid_t)parent == getpid())
        visit->visit(visit, (pid_t)strtol(name, NULL, 10));
}

static bool is_number(const char *name)
{
    return name[0] >= '0' && name[0] <= '9';
}

static bool visit_threads(struct visit *visit)
{
    DIR *folder = opendir("/proc/self/task");
    bool ok = folder != NULL;

    for (struct dirent *entry; ok && (entry = readdir(folder)) != NULL;)
        if (is_number(entry->d_name))
            ok = visit_children_of(visit, entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
    return ok;
}

static void visit_children(struct visit *visit)
{
    DIR *folder;

    if (visit_threads(visit))
        return;
    folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (is_number(entry->d_name))
            visit_if_child(visit, entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
}

static void collect(struct visit *visit, pid_t pid)
{
    pid_t *list = realloc(visit->list, (visit->count + 1) * sizeof *list);

    visit->failed = visit->failed || list == NULL;
    if (list == NULL)
        return;
    visit->list = list;
    list[visit->count++] = pid;
}

bool orphans_watch(struct orphans *orphans, size_t memory)
{
    struct visit visit = {.visit = collect};

    *orphans = (struct orphans){.memory = memory};
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return false;
    visit_children(&visit);
    orphans->known = visit.list;
    orphans->known_count = visit.count;
    errno = ENOMEM;
    return !visit.failed;
}

void orphans_finish(struct orphans *orphans)
{
    free(orphans->known);
    *orphans = (struct orphans){.known = NULL};
}

void orphans_forget(struct orphans *orphans, pid_t pid)
{
    for (size_t i = 0; i < orphans->known_count; i++)
        if (orphans->known[i] == pid)
            orphans->known[i] = orphans->known[--orphans->known_count];
}

static bool is_known(const struct orphans *orphans, pid_t pid)
{
    for (size_t i = 0; i < orphans->known_count; i++)
        if (orphans->known[i] == pid)
            return true;
    return false;
}

/* "Max address space  <soft>  <hard>  bytes": may it map more than a runner may? */
static bool is_within_memory(pid_t pid, size_t memory)
{
    char path[64];
    char text[PROC_TEXT];
    static const char limit[] = "Max address space";
    const char *line;
    unsigned long long hard;

    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    read_proc(path, text, sizeof text);
    line = strstr(text, limit);
    if (line == NULL)
        return false;
    line += sizeof limit - 1;
    return proc_skip_word(&line) && proc_take_number(&line, 10, &hard) && hard <= memory;
}

/* A zombie has no limits any more, but bears the other sign; either way it only waits for us. */
static bool comes_from_runner(const struct orphans *orphans, pid_t pid)
{
    char path[64];
    char text[PROC_TEXT];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    read_proc(path, text, sizeof text);
    if (strstr(text, "\nNoNewPrivs:\t1") == NULL)
        return false;
    return orphans->memory == 0 || strstr(text, "\nState:\tZ") != NULL ||
           is_within_memory(pid, orphans->memory);
}

/* It is our child and nobody else reaps it, so the pid is nobody else's. */
static void kill_orphan(struct visit *visit, pid_t pid)
{
    if ((visit->is_ours != NULL && visit->is_ours(visit->context, pid)) ||
        is_known(visit->orphans, pid) || !comes_from_runner(visit->orphans, pid))
        return;
    (void)kill(pid, SIGKILL);
    visit->count++;
}

size_t orphans_kill(const struct orphans *orphans, orphans_is_ours is_ours, void *context)
{
    struct visit visit = {
        .visit = kill_orphan, .orphans = orphans, .is_ours = is_ours, .context = context};

    visit_children(&visit);
    return visit.count;
}

static void reap_orphan(struct visit *visit, pid_t pid)
{
    if (!is_known(visit->orphans, pid) && comes_from_runner(visit->orphans, pid))
        (void)waitpid(pid, NULL, WNOHANG);
}

void orphans_end(const struct orphans *orphans)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    struct visit reaping = {.visit = reap_orphan, .orphans = orphans};

    for (int ms = 0; ms < END_MS && orphans_kill(orphans, NULL, NULL) > 0; ms += LOOK_AGAIN_MS) {
        visit_children(&reaping);
        (void)nanosleep(&pause, NULL);
    }
}
