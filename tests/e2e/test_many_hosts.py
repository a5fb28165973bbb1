"""Several hosts on one queue; hosts that die or freeze; how work is noticed."""

import signal


def test_two_hosts_share_a_queue_and_no_task_runs_twice(database, hosts, tmp_path):
    path = tmp_path / "ran"
    for _ in range(2):
        hosts.start("--concurrency", "2", queue="chain", plugins=["chain"])

    runs = [database.start_flow("chain", {"ms": 100, "file": str(path)}) for _ in range(20)]

    for run in runs:
        database.wait_run(run)
    lines = [tuple(line.split()[:4]) for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 60
    assert database.value("select count(distinct last_worker_id) from pgflow.step_tasks") == 2


def test_killed_host_loses_no_task(database, hosts, tmp_path):
    path = tmp_path / "ran"
    doomed = hosts.start("--concurrency", "4", queue="chain", plugins=["chain"])
    runs = [database.start_flow("chain", {"ms": 300, "file": str(path)}) for _ in range(4)]
    database.until("select count(*) >= 3 from pgflow.step_tasks where status = 'started'")

    doomed.kill()
    # What the clock would bring, without waiting for it: the recovery deadline passes.
    database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
    database.rows("select pgflow.requeue_stalled_tasks()")
    hosts.start("--concurrency", "4", queue="chain", plugins=["chain"])

    for run in runs:
        database.wait_run(run)
    completed_once = [tuple(line.split()[:4]) for line in path.read_text().splitlines()]
    assert len(set(completed_once)) == 12


def test_recovery_needs_no_operator(database, hosts):
    doomed = hosts.start(queue="faults", plugins=["faults"])
    run = database.start_flow("faults", {"fault": "spin_politely"})
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and status = 'started'", run)
    doomed.kill()

    hosts.start(queue="faults", plugins=["faults"])

    # Lease 1 s + 30 s, maintenance every 15 s once a connection is 30 s old.
    database.wait_run(run, "failed", patience=150)
    task = database.task(run, "spin_politely")
    assert task.requeued_count == 1
    assert "timed out after 1 s" in task.error_message


def test_frozen_host_that_wakes_up_late_changes_nothing(database, hosts):
    frozen = hosts.start(queue="faults", plugins=["faults"])
    run = database.start_flow("faults", {"fault": "sleep", "ms": 800})
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and status = 'started'", run)
    frozen.signal(signal.SIGSTOP)
    database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
    database.rows("select pgflow.requeue_stalled_tasks()")
    hosts.start("--function", "second", queue="faults", plugins=["faults"])
    database.wait_run(run)
    before = database.task(run, "sleep")

    frozen.signal(signal.SIGCONT)
    again = [database.start_flow("faults", {"fault": "echo", "n": n}) for n in range(4)]

    for each in again:
        database.wait_run(each)
    assert database.task(run, "sleep") == before
    assert frozen.running()


def test_listen_wakes_a_host_that_polls_rarely(database, hosts):
    hosts.start("--poll-interval", "10000", queue="noop", plugins=["noop"])

    # One after the other: with polls alone they would take more than a minute.
    for _ in range(10):
        run = database.start_flow("noop")
        database.wait_run(run, patience=8)


def test_polling_alone_finds_work_too(database, hosts):
    hosts.start("--no-listen", queue="noop", plugins=["noop"])

    run = database.start_flow("noop")

    database.wait_run(run)


def test_one_connection_is_enough(database, hosts):
    hosts.start("--db-connections", "1", queue="chain", plugins=["chain"])

    run = database.start_flow("chain")

    database.wait_run(run)


def test_pooled_host_uses_no_listen(database, hosts):
    hosts.start("--pooled", queue="noop", plugins=["noop"])

    run = database.start_flow("noop")

    database.wait_run(run)
