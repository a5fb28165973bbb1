"""What options of the host do that no other test needs: each is given, and its effect is looked at."""

import contextlib
import resource

import psycopg2
import pytest

from lib.paths import SANITIZED
from lib.programs import wait_until


def fault(database, name, **more):
    return database.start_flow("faults", {"fault": name, **more})


def self_told(database):
    """What a handler sees of its process."""
    run = fault(database, "self")
    database.wait_run(run)
    return database.task(run, "self").output


@pytest.fixture
def served(database, hosts):
    return lambda *options: hosts.start(*options, queue="faults", plugins=["faults"])


def compiled(hosts):
    """The flow is known, and nobody serves it."""
    hosts.start("--once", queue="faults", plugins=["faults"], wait=False).wait()


def test_max_payload_is_the_limit_of_inputs_and_outputs(database, served):
    served("--max-payload", "1")

    over = fault(database, "echo", text="x" * (3 << 19))
    below = fault(database, "echo", text="x" * (1 << 19))
    output = fault(database, "over_limit", mib=2)

    database.wait_run(over, "failed")
    database.wait_run(below)
    database.wait_run(output, "failed")
    assert "1 MiB" in database.task(over, "echo").error_message
    assert "1 MiB" in database.task(output, "over_limit").error_message


def test_runner_is_replaced_after_its_tasks(database, served):
    served("--runner-max-tasks", "2", "--concurrency", "1")

    pids = [self_told(database)["pid"] for _ in range(5)]

    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def test_idle_runners_end_but_for_one_of_each_module(database, served):
    host = served("--runner-idle", "1", "--concurrency", "3")
    for run in [fault(database, "sleep", ms=500) for _ in range(3)]:
        database.wait_run(run)

    wait_until(lambda: len(host.children()) == 1)
    last, = host.children()
    database.wait_run(fault(database, "echo"))

    assert host.children() == [last]


def test_batch_size_is_the_widest_claim(database, hosts, served):
    compiled(hosts)
    runs = [fault(database, "echo") for _ in range(6)]

    served("--batch-size", "2", "--concurrency", "4")

    for run in runs:
        database.wait_run(run)
    widest = "select max(n) from (select count(*) as n from pgflow.step_tasks group by started_at) claims"
    assert database.value(widest) == 2


def test_read_visibility_is_how_long_a_message_stays_hidden_whose_task_is_locked(database, hosts, served):
    compiled(hosts)
    run = fault(database, "echo")
    with contextlib.closing(psycopg2.connect(database.url)) as other:
        other.cursor().execute("select from pgflow.step_tasks for update")

        served("--read-visibility", "300")

        database.until("select vt - clock_timestamp() between '200 s' and '300 s' from pgmq.q_faults")
    assert database.task(run, "echo").status == "queued"


def test_handler_core_lets_a_handler_write_a_core_file(database, hosts, served):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("the hard limit of this session allows no core file")
    served("--handler-core")

    assert self_told(database)["coreLimit"] > 0


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has no memory limit anyway")
def test_memory_limit_of_0_is_none(database, served):
    served("--handler-memory", "0")

    assert self_told(database)["memoryLimit"] == resource.RLIM_INFINITY % (1 << 64)
