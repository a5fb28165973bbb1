#include "ctl/replay/box_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#define OWN_ARCH 0
#endif

/* Numbers of the x32 interface of x86-64, which would go past the list. */
#define X32_CALLS 0x40000000U
#define SOCKET_TYPE 0xfU /* without SOCK_CLOEXEC and SOCK_NONBLOCK */

#define LOAD(field)                                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define ANSWER(errno_value)                                                                        \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((errno_value)&SECCOMP_RET_DATA))
#define REFUSE_CALL(number, errno_value)                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), ANSWER(errno_value)

/* A pair is refused unless it is a stream: a datagram socket of a pair can send to any other. */
static const struct sock_filter program[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
    ANSWER(EPERM),
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1),
    ANSWER(EPERM),
    REFUSE_CALL(SYS_io_uring_setup, ENOSYS),
    REFUSE_CALL(SYS_unshare, EPERM),
    REFUSE_CALL(SYS_setns, EPERM),
    REFUSE_CALL(SYS_mount, EPERM),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1),
    ANSWER(EACCES),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 0, 4),
    LOAD(args[1]),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 1, 0),
    ANSWER(EACCES),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

bool box_filter_install(struct error *error)
{
    struct sock_filter copy[sizeof program / sizeof program[0]];
    struct sock_fprog given = {.len = sizeof program / sizeof program[0], .filter = copy};

    memcpy(copy, program, sizeof program);
    if (OWN_ARCH == 0)
        return error_set(error, ERROR_CONFIG, "there is no filter for this kind of machine");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &given) != 0)
        return error_set(error, ERROR_CONFIG, "seccomp: %s", strerror(errno));
    return true;
}
