"""A host whose modules do not cover its queue, below a supervisor that starts it again at once."""

import json
import socket

import pytest

from lib.exposition import get
from lib.paths import module
from lib.programs import run_ctl, run_host, wait_until
from lib.rollout import Supervisor

QUEUE, FUNCTION = "routed_main", "pgflow-host/routed_main"
LISTEN = ("--metrics-listen", "127.0.0.1:0")
NOT_READY = (503, "standing by: the given modules do not cover the queue\n")


def uncover(database):
    """A flow that is active, and that no host here has."""
    database.rows("select pgflow.ensure_deployment(%s::jsonb)", json.dumps(
        {"flowSlug": "lost", "queueMode": "routed", "routes": {"only": QUEUE}, "steps": [{"slug": "only"}]}))


def cover(database):
    database.rows("select pgflow.delete_flow_and_data('lost')")


def marks(database):
    return database.value("select count(*) from pgflow.coverage_gaps")


@pytest.fixture
def start(database, tmp_path):
    """Runs a host that ends by itself; gives its result."""

    def run(*options, plugin="routed_v1"):
        return run_host("--queue", QUEUE, "--plugin", module(plugin), "--log-format", "json", "--module-dir", tmp_path / "copies",
                        *options, env={"PGFLOW_DATABASE": database.url})

    return run


@pytest.fixture
def waiting(database, hosts, start):
    """A host that stands by for the coverage: the second start after one that ended with 78."""
    uncover(database)
    first = start()
    assert first.returncode == 78 and "lost.only" in first.stderr, first.stderr
    host = hosts.start(*LISTEN, queue=QUEUE, plugins=["routed_v1"], wait=False)
    host.log.wait("standby")
    return host


def test_supervisor_that_starts_it_again_at_once_starts_it_twice(database, hosts):
    uncover(database)
    supervisor = Supervisor(lambda: hosts.start(*LISTEN, queue=QUEUE, plugins=["routed_v1"], wait=False))
    try:
        assert supervisor.nth(1).wait() == 78
        second = supervisor.nth(2)
        second.log.wait("standby")
        # It has asked again, and beaten: it is there to stay.
        database.until("select count(*) = 1 from pgflow.workers where standby and last_heartbeat_at > started_at")
        cover(database)
        second.log.wait("ready")
        assert len(supervisor.programs) == 2
    finally:
        supervisor.end()


def test_host_that_waits_is_not_ready_and_everybody_says_so(database, waiting):
    told = waiting.log.find("uncovered")
    workers = run_ctl("workers", env={"PGFLOW_DATABASE": database.url})
    doctor = run_ctl("doctor", env={"PGFLOW_DATABASE": database.url})

    assert get(waiting, "/readyz") == NOT_READY
    assert get(waiting, "/healthz")[0] == 200
    assert len(told) == 1 and "lost.only" in told[0]["msg"] and f"pgflowctl coverage {QUEUE}" in told[0]["msg"]
    assert "not ready" in workers.stdout, workers.stdout
    assert f"{FUNCTION} on queue {QUEUE}" in doctor.stdout and "do not cover" in doctor.stdout, doctor.stdout
    assert database.value("select count(*) from pgflow.worker_task_pairs") == 0

    cover(database)
    waiting.log.wait("ready")
    assert get(waiting, "/readyz") == (200, "claiming\n")
    assert "not ready" not in run_ctl("workers", env={"PGFLOW_DATABASE": database.url}).stdout


def test_systemd_is_told_that_the_start_goes_on_and_of_readiness_only_once_covered(database, hosts, start, tmp_path):
    uncover(database)
    assert start().returncode == 78
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "notify"))
        end.settimeout(30)
        host = hosts.start(queue=QUEUE, plugins=["routed_v1"], env={"NOTIFY_SOCKET": tmp_path / "notify"}, wait=False)
        # The second of these came with a question: the host has stood by for a while.
        told = [end.recv(4096).decode() for _ in range(2)]
        cover(database)
        while "READY=1" not in (last := end.recv(4096).decode()):
            told.append(last)

    assert all("EXTEND_TIMEOUT_USEC=60000000" in text and "STATUS=not ready" in text for text in told)
    assert "STATUS=claiming" in last
    host.log.wait("ready")


@pytest.mark.parametrize("option", ["--once", "--check", "--exit-if-disabled"])
def test_job_ends_with_78_whatever_came_before_and_leaves_no_mark(database, start, option):
    uncover(database)

    alone = start(option)
    left = marks(database)
    first, second = start(), start(option)

    assert [result.returncode for result in (alone, first, second)] == [78, 78, 78]
    assert (left, marks(database)) == (0, 1)
    assert "lost.only" in second.stderr, second.stderr


def test_other_modules_another_function_or_another_queue_are_another_start(database, start):
    uncover(database)
    assert start().returncode == 78

    others = [start(plugin="routed_v2"), start("--function", "other"), start("--plugin", module("routed_v2"))]

    assert [other.returncode for other in others] == [78] * 3
    assert marks(database) == 4


def test_start_that_comes_through_makes_the_next_gap_a_first_one(database, hosts, start, waiting):
    cover(database)
    waiting.log.wait("ready")
    waiting.stop()
    gone = marks(database)
    uncover(database)

    again = start()

    assert (gone, again.returncode, marks(database)) == (0, 78, 1)


def test_disabled_while_it_waits_it_is_where_its_operator_wants_it(database, waiting):
    database.rows("select pgflow.disable_worker_functions(array[%s])", FUNCTION)
    waiting.log.wait("disabled")
    disabled = get(waiting, "/readyz")

    database.rows("select pgflow.enable_worker_function(%s)", FUNCTION)
    wait_until(lambda: get(waiting, "/readyz") == NOT_READY)

    assert disabled[0] == 200
    cover(database)
    waiting.log.wait("ready")


def test_deprecated_while_it_waits_it_ends(database, waiting):
    database.rows("select pgflow.deprecate_workers(array[%s])", FUNCTION)

    assert waiting.wait() == 0
