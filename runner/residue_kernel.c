/*
 * What the kernel keeps of a process and a task may have changed for good: each state is read into
 * one struct before the first task and compared byte by byte with what is read after a later one.
 */
#include "runner/residue_parts.h"

#include "runner/options.h"
#include "wire/residue.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUPS = 64, NAMESPACES = 8, CPUS_BYTES = 1024, STANDARD_FDS = RUNNER_FD_SOCKET + 1 };

struct kernel_limits {
    struct rlimit all[RLIM_NLIMITS];
};

struct kernel_credentials {
    uid_t user[3];
    gid_t group[3];
    int group_count;
    gid_t groups[GROUPS];
    struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];
    int secure_bits, seccomp;
};

struct kernel_namespaces {
    char links[NAMESPACES][32]; /* "net:[4026531840]" */
    dev_t root_device;
    ino_t root_inode;
};

struct kernel_affinity {
    unsigned char cpus[CPUS_BYTES];
};

struct kernel_descriptors {
    struct {
        int status_flags, flags;
        dev_t device;
        ino_t inode;
    } all[STANDARD_FDS];
};

struct kernel_state {
    struct kernel_limits limits;
    struct kernel_credentials credentials;
    struct kernel_namespaces namespaces;
    struct kernel_affinity affinity;
    struct kernel_descriptors descriptors;
};

static struct kernel_state before, now;

static void read_limits(struct kernel_limits *limits)
{
    for (int i = 0; i < (int)RLIM_NLIMITS; i++)
        getrlimit((__rlimit_resource_t)i, &limits->all[i]);
}

static void read_credentials(struct kernel_credentials *credentials)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

    getresuid(&credentials->user[0], &credentials->user[1], &credentials->user[2]);
    getresgid(&credentials->group[0], &credentials->group[1], &credentials->group[2]);
    /* -1 for a user with more groups than fit: then only their number can tell. */
    credentials->group_count = getgroups(0, NULL);
    if (credentials->group_count <= GROUPS)
        (void)!getgroups(GROUPS, credentials->groups);
    syscall(SYS_capget, &header, credentials->capabilities);
    credentials->secure_bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    credentials->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
}

static void read_namespaces(struct kernel_namespaces *namespaces)
{
    static const char *const names[NAMESPACES] = {
        "cgroup", "ipc", "mnt", "net", "pid_for_children", "time_for_children", "user", "uts"};
    char path[64];
    struct stat root;

    for (int i = 0; i < NAMESPACES; i++) {
        snprintf(path, sizeof path, "/proc/thread-self/ns/%s", names[i]);
        (void)!readlink(path, namespaces->links[i], sizeof namespaces->links[i]);
    }
    if (stat("/", &root) == 0) {
        namespaces->root_device = root.st_dev;
        namespaces->root_inode = root.st_ino;
    }
}

static void read_affinity(struct kernel_affinity *affinity)
{
    syscall(SYS_sched_getaffinity, 0, sizeof affinity->cpus, affinity->cpus);
}

static void read_descriptors(struct kernel_descriptors *descriptors)
{
    struct stat about;

    for (int fd = 0; fd < STANDARD_FDS; fd++) {
        descriptors->all[fd].status_flags = fcntl(fd, F_GETFL);
        descriptors->all[fd].flags = fcntl(fd, F_GETFD);
        if (fstat(fd, &about) != 0)
            continue;
        descriptors->all[fd].device = about.st_dev;
        descriptors->all[fd].inode = about.st_ino;
    }
}

/* Zeroed first: padding, and what cannot be read, is the same then. */
static void read_state(struct kernel_state *state)
{
    memset(state, 0, sizeof *state);
    read_limits(&state->limits);
    read_credentials(&state->credentials);
    read_namespaces(&state->namespaces);
    read_affinity(&state->affinity);
    read_descriptors(&state->descriptors);
}

void kernel_note(void)
{
    read_state(&before);
}

uint32_t kernel_descriptors_changed(void)
{
    memset(&now.descriptors, 0, sizeof now.descriptors);
    read_descriptors(&now.descriptors);
    return memcmp(&now.descriptors, &before.descriptors, sizeof now.descriptors) == 0
               ? 0
               : RESIDUE_STANDARD_FDS;
}

uint32_t kernel_changed(void)
{
    uint32_t changed = kernel_descriptors_changed();

    read_state(&now);
    if (memcmp(&now.limits, &before.limits, sizeof now.limits) != 0)
        changed |= RESIDUE_LIMITS;
    if (memcmp(&now.credentials, &before.credentials, sizeof now.credentials) != 0)
        changed |= RESIDUE_CREDENTIALS;
    if (memcmp(&now.namespaces, &before.namespaces, sizeof now.namespaces) != 0)
        changed |= RESIDUE_NAMESPACES;
    if (memcmp(&now.affinity, &before.affinity, sizeof now.affinity) != 0)
        changed |= RESIDUE_AFFINITY;
    return changed;
}
