"""Tasks that kill whatever runs them, and modules that cannot start: they stand in nobody's way."""

import signal

import pytest

from lib.paths import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer takes over the crash")

MAIN, MAIL = "routed_main", "routed_mail"


def test_poisonous_task_exhausts_its_attempts_and_its_neighbours_lose_none(database, hosts):
    hosts.start("--concurrency", "3", queue="faults", plugins=["faults"])

    poison = [database.start_flow("faults", {"fault": "segv_five"}) for _ in range(2)]
    fine = [database.start_flow("faults", {"fault": "echo", "n": n}) for n in range(40)]

    for run in fine:
        database.wait_run(run)
        assert database.task(run, "echo").attempts_count == 1
    for run in poison:
        database.wait_run(run, "failed")
        task = database.task(run, "segv_five")
        assert task.attempts_count == 5
        assert "handler died: SIGSEGV" in task.error_message
    database.audit()


def test_module_that_is_held_for_deaths_in_a_row_counts_no_waiting_task(database, hosts):
    host = hosts.start("--concurrency", "1", queue="faults", plugins=["faults"])
    poison = database.start_flow("faults", {"fault": "segv_five"})
    host.log.wait("module_held", flow="faults")

    behind = database.start_flow("faults", {"fault": "echo"})

    database.wait_run(behind)
    assert database.task(behind, "echo").attempts_count == 1
    database.wait_run(poison, "failed")
    assert host.log.find("module_ready", flow="faults")


def test_task_that_kills_its_host_counts_an_attempt_at_each_claim(database, hosts):
    """The database counted the attempt before anything ran, so that nothing has to report it."""
    run = None
    for attempt in (1, 2):
        host = hosts.start(queue="faults", plugins=["faults"])
        run = run or database.start_flow("faults", {"fault": "spin_politely"})
        database.until(
            "select status = 'started' and attempts_count = %s from pgflow.step_tasks"
            " where run_id = %s and step_slug = 'spin_politely'", attempt, run,
        )
        host.signal(signal.SIGKILL)
        host.wait()
        # What the clock would bring: the recovery deadline passes.
        database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
        database.rows("select pgflow.requeue_stalled_tasks()")

    hosts.start(queue="faults", plugins=["faults"])

    database.wait_run(run, "failed")
    task = database.task(run, "spin_politely")
    # Recovery gives a task back whatever its attempts; the third, a failure, is over the limit of two.
    assert (task.attempts_count, task.requeued_count) == (3, 2)
    database.audit()


def test_version_that_cannot_start_waits_uncounted_while_the_other_is_served(database, hosts, tmp_path):
    moody = tmp_path / "moody"
    moody.write_text("routed_v1")
    for queue in (MAIN, MAIL):
        hosts.start(
            "--pass-env", "MOODY_FILE", "--activate", "manual", queue=queue, plugins=["routed_v1", "routed_v2"],
            env={"MOODY_FILE": str(moody)}, wait=False,
        ).log.wait("module_held", flow="routed_v1")
    held = database.start_flow("routed_v1")
    served = [database.start_flow("routed_v2") for _ in range(5)]

    for run in served:
        database.wait_run(run)
    assert database.value("select max(attempts_count) from pgflow.step_tasks where run_id = %s", held) == 0
    moody.unlink()

    database.wait_run(held)
    assert database.value("select max(attempts_count) from pgflow.step_tasks") == 1
    database.audit()
