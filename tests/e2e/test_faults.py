"""A fault of a handler costs one attempt of one task; the next task is fine."""

import contextlib
import os
import pathlib
import signal

import pytest

from lib.paths import SANITIZED, VALGRIND

pytestmark = pytest.mark.skipif(VALGRIND, reason="handlers that crash on purpose; the short form is in test_valgrind")

# The step, what the task's error must say, and extra input.
FATAL = {
    "segv": ("handler died: SIGSEGV", {}),
    "stack_overflow": ("handler died: SIGSEGV", {}),
    "abort": ("handler died: SIGABRT", {}),
    "exit": ("exited with status 3", {}),
    "kill": ("handler died: SIGKILL", {}),
    "say_and_die": ("the last words of this handler", {}),
    "spin": ("timed out after 1 s", {}),
    "spin_politely": ("timed out after 1 s", {}),
    "stop": ("timed out after 1 s", {}),
    "garbage_frame": ("", {}),
    "close_all": ("", {}),
}


@pytest.fixture(scope="module")
def host(shared_hosts):
    return shared_hosts.start("--concurrency", "4", queue="faults", plugins=["faults"])


def start(database, fault, **more):
    return database.start_flow("faults", {"fault": fault, **more})


def next_task_is_fine(database, host):
    run = start(database, "echo", word="fine")
    database.wait_run(run)
    task = database.task(run, "echo")
    assert task.attempts_count == 1
    assert task.output == {"fault": "echo", "word": "fine"}
    assert host.running()


@pytest.mark.parametrize("fault", FATAL)
def test_fatal_fault_costs_one_attempt_each_and_the_next_task_is_fine(shared_database, host, fault):
    message, more = FATAL[fault]

    run = start(shared_database, fault, **more)

    shared_database.wait_run(run, "failed")
    task = shared_database.task(run, fault)
    assert task.attempts_count == 2
    assert message in task.error_message
    next_task_is_fine(shared_database, host)


def test_line_of_a_runner_that_was_killed_at_the_deadline_names_the_timeout(shared_database, host):
    run = start(shared_database, "spin")

    shared_database.wait_run(run, "failed")
    line = host.log.wait("runner_exit", run=run)
    assert line["msg"] == "runner ended (timeout): timed out after 1 s"


def test_crash_on_the_first_attempt_is_retried(shared_database, host):
    run = start(shared_database, "segv_once")

    shared_database.wait_run(run)
    assert shared_database.task(run, "segv_once").output == {"attempt": 2}


def test_exit_with_status_zero_is_a_death(shared_database, host):
    run = start(shared_database, "exit", status=0)

    shared_database.wait_run(run, "failed")
    assert "exited with status 0" in shared_database.task(run, "exit").error_message


@contextlib.contextmanager
def memory_cgroup(limit):
    """The file that takes a process into a cgroup which may use `limit` bytes."""
    for place, maximum in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = pathlib.Path(place) / f"pgflow-test-{os.getpid()}"
        try:
            group.mkdir()
            with open(group / maximum, "r+", encoding="ascii") as file:  # it is there in a cgroup alone
                file.write(str(limit))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield group / "cgroup.procs"
        finally:
            group.rmdir()
        return
    pytest.skip("no memory cgroup may be made here")


def test_death_by_the_kernels_memory_killer_says_so(database, hosts):
    with memory_cgroup(300 << 20) as members:
        enter = ("/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(members))
        greedy = hosts.start("--handler-memory", "4096", queue="faults", plugins=["faults"], wrapper=enter)
        run = start(database, "hog", mib=1000)
        database.wait_run(run, "failed")
        greedy.stop()

    assert "SIGKILL (the kernel's out-of-memory killer was at work" in database.task(run, "hog").error_message


@pytest.mark.skipif(SANITIZED, reason="runners of a sanitizer build have no memory limit")
def test_handler_that_eats_memory_meets_its_limit(shared_database, host):
    run = start(shared_database, "hog")

    shared_database.wait_run(run, "failed")
    task = shared_database.task(run, "hog")
    assert task.attempts_count == 2
    assert "handler died" in task.error_message
    next_task_is_fine(shared_database, host)


def test_leaking_handler_finishes_and_hurts_nobody(shared_database, host):
    runs = [start(shared_database, "leak") for _ in range(8)]

    for run in runs:
        shared_database.wait_run(run)
        assert shared_database.task(run, "leak").attempts_count == 1
    next_task_is_fine(shared_database, host)


def test_scratch_memory_of_a_call_is_given_back_after_it(shared_database, host):
    """More in all than --handler-memory: what one call took, the next one gets again."""
    runs = [start(shared_database, "scratch", mib=60) for _ in range(40)]
    small = start(shared_database, "scratch", mib=0)

    for run in runs:
        shared_database.wait_run(run)
        assert shared_database.task(run, "scratch").output == 60 << 20
    shared_database.wait_run(small)
    if not SANITIZED:
        too_much = start(shared_database, "scratch", mib=100_000)
        shared_database.wait_run(too_much, "failed")
        assert "no scratch memory" in shared_database.task(too_much, "scratch").error_message


def test_death_after_the_answer_costs_nothing(shared_database, host):
    # Its thread must be there after the first task, or the runner is recycled before it acts: so all
    # runners are new ones.
    for pid in host.children():
        os.kill(pid, signal.SIGKILL)
        host.log.wait("runner_exit", pid=pid)
    before = host.log.position()

    run = start(shared_database, "die_later")

    shared_database.wait_run(run)
    task = shared_database.task(run, "die_later")
    assert (task.attempts_count, task.output) == (1, "answered")
    # Until then the runner may take the next task, and would die of that.
    host.log.wait("runner_exit", after=before)
    next_task_is_fine(shared_database, host)


def test_flood_of_output_is_cut_and_the_task_completes(shared_database, host):
    run = start(shared_database, "flood")

    shared_database.wait_run(run)
    assert shared_database.task(run, "flood").attempts_count == 1


def test_children_of_a_handler_do_not_hold_up_the_host(shared_database, host):
    run = start(shared_database, "fork", s=30)

    shared_database.wait_run(run)
    next_task_is_fine(shared_database, host)


def test_neighbours_of_a_crash_keep_their_attempt(shared_database, host):
    sleepers = [start(shared_database, "sleep", ms=500) for _ in range(2)]

    crash = start(shared_database, "segv")

    shared_database.wait_run(crash, "failed")
    for run in sleepers:
        shared_database.wait_run(run)
        assert shared_database.task(run, "sleep").attempts_count == 1


def test_handler_sees_no_credentials_and_no_foreign_descriptors(shared_database, host):
    run = start(shared_database, "self")

    shared_database.wait_run(run)
    itself = shared_database.task(run, "self").output
    assert itself["noNewPrivs"] == 1
    assert itself["sid"] == itself["pid"]
    for name in itself["env"]:
        assert not name.startswith(("PG", "PGFLOW_", "DATABASE_")), name


def test_returned_values_decide_how_an_attempt_ends(shared_database, host):
    plain = start(shared_database, "return")
    unknown = start(shared_database, "return", value=99)
    cancelled_unasked = start(shared_database, "return", value=3)
    permanent = start(shared_database, "permanent")
    later = start(shared_database, "retry_after")

    for run, attempts, step, words in [
        (plain, 2, "return", "handler returned 1"),
        (unknown, 2, "return", "99"),
        (cancelled_unasked, 2, "return", "3"),
        (permanent, 1, "permanent", "no such mailbox"),
    ]:
        shared_database.wait_run(run, "failed")
        task = shared_database.task(run, step)
        assert (task.attempts_count, task.output) == (attempts, None)
        assert words in task.error_message
    shared_database.wait_run(later)
    assert shared_database.task(later, "retry_after").output == {"attempt": 2}


def test_output_of_a_failed_attempt_is_dropped(shared_database, host):
    run = start(shared_database, "error_text")

    shared_database.wait_run(run, "failed")
    task = shared_database.task(run, "error_text")
    assert task.output is None
    assert "the mailbox is full" in task.error_message
