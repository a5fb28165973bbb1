/*
 * The crash note. Everything that runs in the signal handler is
 * async-signal-safe: pread, sendmsg, raise, and no memory but its own stack.
 */
#include "runner/crash_note.h"

#include "runner/address_space.h"
#include "wire/frame.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024 };

static int note_fd = -1;
static pid_t owner;
static atomic_bool sending;

void crash_note_block(void)
{
    atomic_store_explicit(&sending, true, memory_order_relaxed);
}

void crash_note_unblock(void)
{
    atomic_store_explicit(&sending, false, memory_order_relaxed);
}

/* SA_RESETHAND put the default action back and SA_NODEFER left the signal
 * open, so raise() ends the process. */
static void send_note(int number)
{
    struct {
        struct frame_header header;
        struct frame_crash crash;
    } note;

    /* A forked child has the socket too, and nothing to say on it. */
    if (getpid() == owner && !atomic_load_explicit(&sending, memory_order_relaxed)) {
        memset(&note, 0, sizeof note);
        note.header = frame_header_make(FRAME_CRASH, 0, sizeof note.crash);
        note.crash.signal = number;
        note.crash.address_space = address_space_size();
        send(note_fd, &note, sizeof note, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    (void)raise(number);
}

bool crash_note_install(int fd, struct error *error)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = send_note,
                               .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER)};
    stack_t stack = {.ss_size = STACK_SIZE};

    note_fd = fd;
    owner = getpid();
    /* Mapped, not malloced: the heap may be what is broken. */
    stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
        return error_set(error, ERROR_INTERNAL, "signal stack: %s", strerror(errno));
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return error_set(error, ERROR_INTERNAL, "sigaction: %s", strerror(errno));
    return true;
}
