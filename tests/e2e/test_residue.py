"""What a task of one run leaves in its process is not there for the task of another run."""

import pytest

from lib.paths import SANITIZED

PUT_BACK = ["alarm", "timers", "mask", "pending", "pending_alarm", "folder", "umask"]
RECYCLED = {
    "setenv": "a changed environment",
    "thread_locale": "another locale",
    "rounding": "another floating-point mode",
    "limit": "other resource limits",
    "affinity": "another CPU affinity",
    "nonblocking": "changed inherited descriptors",
    "handler": "signal handlers",
    "thread": "more threads",
    "descriptor": "more open descriptors",
    "orphan": "more child processes",
}


@pytest.fixture(scope="module")
def host(shared_hosts):
    return shared_hosts.start("--concurrency", "1", "--log-level", "debug", queue="leaks", plugins=["leaks"])


def leave(database, what, **more):
    run = database.start_flow("leaks", {"what": what, **more})
    database.wait_run(run)
    return run, database.task(run, "leave").output


@pytest.mark.parametrize("what", PUT_BACK)
def test_what_run_a_left_is_put_back_for_run_b(shared_database, host, what):
    before = leave(shared_database, "nothing")[1]
    leave(shared_database, what, blind=1)

    # Longer than what it left would have taken to strike.
    after = leave(shared_database, "nothing", us=1_200_000 if what == "alarm" else 0)[1]

    assert after == before, "the same state in the same process"


@pytest.mark.parametrize("what", RECYCLED)
def test_what_run_a_left_for_good_ends_the_runner_before_run_b(shared_database, host, what):
    before = leave(shared_database, "nothing")[1]
    position = host.log.position()
    try:
        run = leave(shared_database, what, blind=1)[0]
    except AssertionError as refused:
        assert "cannot leave it here" in str(refused)
        pytest.skip(f"this machine has no other {what}")

    after = leave(shared_database, "nothing")[1]

    assert after["state"] == before["state"]
    assert after["pid"] != before["pid"]
    line = host.log.wait("runner_recycled", after=position, pid=before["pid"], run=run, step="leave")
    assert line["msg"] == f"recycled: the task left {RECYCLED[what]}"


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own threads and handlers")
def test_module_that_may_grow_keeps_its_runner(shared_database, shared_hosts):
    grows = shared_hosts.start("--concurrency", "1", queue="leaks_grow", plugins=["leaks_grow"])
    pids = set()
    for _ in range(3):
        run = shared_database.start_flow("leaks_grow", {"what": "as_a_runtime"})
        shared_database.wait_run(run)
        pids.add(shared_database.task(run, "leave").output["pid"])
    grows.stop()  # and with it what its handlers left running
    assert len(pids) == 1
