/*
 * What a runtime makes when it is first used, and may keep: counted after the first task, and
 * compared from then on.
 */
#include "base/proc_text.h"
#include "runner/residue_parts.h"

#include "wire/residue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* PF_EXITING of the kernel: pthread_join returns before such a thread is gone. */
enum { THREAD_ENDS = 0x4 };

static struct {
    int descriptors_fd, threads_fd; /* folders of /proc; -1: not looked at */
    long descriptors, threads, children;
    struct sigaction handlers[NSIG];
} before;

/* ---- Descriptors ---- */

/* Kernels since 6.2 give the number of them as the size of the folder. On others the lowest free
 * number stands for it: whatever is opened takes that one. */
static long count_descriptors(void)
{
    struct stat about;
    int lowest;

    if (before.descriptors_fd < 0 || fstat(before.descriptors_fd, &about) != 0)
        return -1;
    if (about.st_size > 0)
        return (long)about.st_size;
    lowest = fcntl(before.descriptors_fd, F_DUPFD_CLOEXEC, 0);
    if (lowest >= 0)
        (void)close(lowest);
    return lowest;
}

/* ---- Threads ---- */

static bool is_ending(const char *thread)
{
    char path[64];
    char text[512];
    unsigned long long flags;
    size_t size;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", thread);
    file = fopen(path, "re");
    if (file == NULL)
        return true;
    size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    return !proc_stat_number(text, 9, &flags) || (flags & THREAD_ENDS) != 0;
}

static long count_living_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    long count = 0;

    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && !is_ending(entry->d_name))
            count++;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

/* The folder of them has two links besides. */
static long count_threads(void)
{
    struct stat about;

    if (__libc_single_threaded)
        return 1;
    if (before.threads_fd < 0 || fstat(before.threads_fd, &about) != 0)
        return -1;
    return (long)about.st_nlink - 2;
}

static bool has_more_threads(void)
{
    return count_threads() > before.threads && count_living_threads() > before.threads;
}

/* ---- Children ---- */

static long count_children_of(const char *thread)
{
    char path[64];
    long count = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.16s/children", thread);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    for (int c; (c = fgetc(file)) != EOF;)
        count += c == ' '; /* behind each */
    (void)fclose(file);
    return count;
}

/* Dead ones that nobody waited for are children too. Without lists of them "some" is all that can
 * be known: 1. */
static long count_children(void)
{
    siginfo_t info;
    DIR *folder;
    long count = 0;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
        return 0;
    folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            count += count_children_of(entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
    return count > 0 ? count : 1;
}

/* ---- Signal handlers ---- */

static void read_handlers(struct sigaction *handlers)
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &handlers[number]) != 0)
            handlers[number].sa_handler = SIG_DFL; /* libc's own */
}

/* One that went is no growth, an ignored signal that is ignored no more is. */
static bool has_more_handlers(void)
{
    static struct sigaction now[NSIG];

    read_handlers(now);
    for (int number = 1; number < NSIG; number++)
        if (now[number].sa_handler != before.handlers[number].sa_handler &&
            (now[number].sa_handler != SIG_DFL || before.handlers[number].sa_handler == SIG_IGN))
            return true;
    return false;
}

/* ---- All ---- */

void growth_open(void)
{
    before.descriptors_fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    before.threads_fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void growth_note(void)
{
    before.descriptors = count_descriptors();
    before.threads = count_threads();
    before.children = count_children();
    read_handlers(before.handlers);
}

uint32_t growth_quick(void)
{
    long descriptors = count_descriptors();
    uint32_t more = 0;

    if (descriptors > before.descriptors)
        more |= RESIDUE_DESCRIPTORS;
    /* Whatever is opened next would take the number of one that we need. */
    if (descriptors < before.descriptors)
        more |= kernel_descriptors_changed();
    if (has_more_threads())
        more |= RESIDUE_THREADS;
    return more;
}

uint32_t growth_deep(void)
{
    uint32_t more = 0;

    if (has_more_handlers())
        more |= RESIDUE_HANDLERS;
    if (count_children() > before.children)
        more |= RESIDUE_CHILDREN;
    return more;
}
