/*
 * Trampolines into libc; see watched_calls.h. In assembly, because most of these functions have
 * arguments of their own kinds, some any number of them, and vfork may not return twice.
 * watched_calls.list names them once more, for the linker.
 */
#include "runner/watched_calls.h"

#include <dlfcn.h>
#include <stddef.h>

#if !defined(PGFLOW_SANITIZED) && (defined(__x86_64__) || defined(__aarch64__))

/* clang-format off */
#define WATCHED_CALLS(X) \
    X(alarm) X(ualarm) X(setitimer) X(timer_create) \
    X(signal) X(sigaction) X(sigset) X(sigignore) X(siginterrupt) X(ssignal) X(sysv_signal) X(__sysv_signal) \
    X(nice) X(setpriority) X(sched_setscheduler) X(sched_setparam) \
    X(pthread_setschedparam) X(pthread_setschedprio) \
    X(sched_setaffinity) X(pthread_setaffinity_np) \
    X(setrlimit) X(setrlimit64) X(prlimit) X(prlimit64) \
    X(setuid) X(seteuid) X(setreuid) X(setresuid) X(setfsuid) \
    X(setgid) X(setegid) X(setregid) X(setresgid) X(setfsgid) X(setgroups) X(initgroups) X(capset) X(prctl) \
    X(unshare) X(setns) X(chroot) \
    X(fcntl) X(fcntl64) X(ioctl) X(dup2) X(dup3) X(freopen) X(freopen64) X(close_range) X(closefrom) \
    X(fork) X(vfork) X(_Fork) X(clone) X(daemon) X(system) X(popen) X(posix_spawn) X(posix_spawnp) \
    X(syscall)
/* clang-format on */

#define HIDDEN __attribute__((visibility("hidden"), used))

HIDDEN unsigned char watched_calls_touched;

#if defined(__x86_64__)
#define JUMP(name)                                                                                 \
    "    endbr64\n"                                                                                \
    "    movb $1, watched_calls_touched(%rip)\n"                                                   \
    "    jmp *watched_next_" #name "(%rip)\n"
#else
#define JUMP(name)                                                                                 \
    "    hint #34\n"                                                                               \
    "    mov w17, #1\n"                                                                            \
    "    adrp x16, watched_calls_touched\n"                                                        \
    "    strb w17, [x16, :lo12:watched_calls_touched]\n"                                           \
    "    adrp x16, watched_next_" #name "\n"                                                       \
    "    ldr x16, [x16, :lo12:watched_next_" #name "]\n"                                           \
    "    br x16\n"
#endif

/* `watched_own_` is the same place under a name that nobody else can have. */
#define DEFINE(name)                                                                               \
    HIDDEN void *watched_next_##name;                                                              \
    extern char watched_own_##name[] __attribute__((visibility("hidden")));                        \
    __asm__(".pushsection .text\n"                                                                 \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", %function\n"                                                         \
            ".hidden watched_own_" #name "\n"                                                      \
            ".globl watched_own_" #name "\n" #name ":\n"                                           \
            "watched_own_" #name ":\n" JUMP(name) ".size " #name ", . - " #name                    \
                                                  "\n.popsection\n");

WATCHED_CALLS(DEFINE)

/* Also ours, where a library that is loaded early calls one before we look: the loader runs this
 * before the constructors of any library. */
static void find_libc(void)
{
#define FIND(name) watched_next_##name = dlsym(RTLD_NEXT, #name);
    WATCHED_CALLS(FIND)
#undef FIND
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = find_libc;

bool watched_calls_work(void)
{
    bool work = true;

#define CHECK(name)                                                                                \
    work =                                                                                         \
        work && (watched_next_##name == NULL || dlsym(RTLD_DEFAULT, #name) == watched_own_##name);
    WATCHED_CALLS(CHECK)
#undef CHECK
    return work;
}

bool watched_calls_seen(void)
{
    bool seen = watched_calls_touched != 0;

    watched_calls_touched = 0;
    return seen;
}

#else

bool watched_calls_work(void)
{
    return false;
}

bool watched_calls_seen(void)
{
    return true;
}

#endif
