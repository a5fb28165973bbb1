"""Stopping with every slot busy and a full queue: in time, nothing counted, nothing lost."""

import signal

# Slots, and messages behind them: more than one batch ahead.
SLOTS = 3
WAITING = 30


def fill(database, hosts, *options, step="sleep", **given):
    """A host with all slots busy and many more messages; gives it and the runs."""
    host = hosts.start("--concurrency", str(SLOTS), *options, queue="faults", plugins=["faults"])
    runs = [database.start_flow("faults", {"fault": step, **given}) for _ in range(SLOTS + WAITING)]
    database.until("select count(*) >= %s from pgflow.step_tasks where status = 'started'", SLOTS)
    return host, runs


def counts(database):
    """status: (tasks, most attempts) of everything that was started."""
    rows = database.rows(
        "select status, count(*) as tasks, max(attempts_count) as attempts from pgflow.step_tasks group by status"
    )
    return {row.status: (row.tasks, row.attempts) for row in rows}


def no_connection_is_left(database):
    """PostgreSQL notices the end of a connection a moment later."""
    return database.until(
        "select count(*) = 0 from pg_stat_activity where datname = current_database()"
        " and application_name like 'pgflow-host/%%'"
    )


def visible_messages(database):
    return database.value("select count(*) from pgmq.q_faults where vt <= clock_timestamp()")


def test_term_finishes_what_runs_and_gives_the_rest_back_at_once(database, hosts):
    host, runs = fill(database, hosts, ms=1500)

    host.signal(signal.SIGTERM)
    host.log.wait("stopping")

    assert host.wait() == 0, host.log.tail()
    left = counts(database)
    # A slow machine lets further handlers end before the signal arrives.
    completed, attempts = left["completed"]
    assert completed >= SLOTS and attempts == 1
    assert left["queued"] == (len(runs) - completed, 0)
    assert visible_messages(database) == len(runs) - completed
    assert database.value("select stopped_at is not null from pgflow.workers")
    no_connection_is_left(database)


def test_prefetched_tasks_are_given_back_uncounted(database, hosts):
    host = hosts.start("--concurrency", str(SLOTS), queue="faults", plugins=["faults"])
    # Twenty quick handlers begin prefetch; then the slots are taken for long.
    for run in [database.start_flow("faults", {"fault": "echo"}) for _ in range(40)]:
        database.wait_run(run)
    for _ in range(SLOTS + WAITING):
        database.start_flow("faults", {"fault": "sleep", "ms": 60000})
    database.until("select count(*) > %s from pgflow.step_tasks where status = 'started'", SLOTS)

    host.signal(signal.SIGTERM)
    host.log.wait("stopping")

    # At once: while the handlers still run.
    database.until("select count(*) = %s from pgflow.step_tasks where status = 'started'", SLOTS)
    host.signal(signal.SIGTERM)
    assert host.wait() == 0, host.log.tail()
    left = counts(database)
    assert left["queued"] == (SLOTS + WAITING, 0)
    assert visible_messages(database) == SLOTS + WAITING


def test_handlers_that_never_listen_do_not_block_a_stop(database, hosts):
    host, _ = fill(database, hosts, "--drain-timeout", "1", step="sleep", ms=600000)

    host.signal(signal.SIGTERM)

    assert host.wait() == 0, host.log.tail()
    assert counts(database) == {"queued": (SLOTS + WAITING, 0)}
    assert visible_messages(database) == SLOTS + WAITING
    no_connection_is_left(database)


def test_stopped_handler_does_not_block_a_stop(database, hosts):
    """A handler that raised SIGSTOP hears nothing; only SIGKILL ends it."""
    host = hosts.start("--drain-timeout", "0", queue="faults", plugins=["faults"])
    database.start_flow("faults", {"fault": "kill", "signal": int(signal.SIGSTOP)})
    database.until("select count(*) = 1 from pgflow.step_tasks where status = 'started'")

    host.signal(signal.SIGTERM)

    assert host.wait() == 0, host.log.tail()
    assert counts(database)["queued"] == (1, 0)


def test_second_signal_kills_the_handlers_and_gives_everything_back(database, hosts):
    host, _ = fill(database, hosts, "--drain-timeout", "600", ms=600000)
    runners = host.children()

    host.signal(signal.SIGINT)
    host.log.wait("stopping")
    host.signal(signal.SIGTERM)

    assert host.wait() == 0, host.log.tail()
    assert runners
    assert counts(database)["queued"] == (SLOTS + WAITING, 0)
    assert database.value("select sum(released_count) >= %s from pgflow.step_tasks", SLOTS)
    no_connection_is_left(database)


def test_another_host_goes_on_with_what_a_stop_gave_back(database, hosts):
    first, runs = fill(database, hosts, "--drain-timeout", "0", ms=1000)

    first.signal(signal.SIGTERM)
    assert first.wait() == 0, first.log.tail()
    hosts.start("--concurrency", "33", queue="faults", plugins=["faults"])

    for run in runs:
        database.wait_run(run)
    assert database.value("select max(attempts_count) from pgflow.step_tasks") == 1
    database.audit()
