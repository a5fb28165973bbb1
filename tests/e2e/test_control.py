"""What changes about a host's function reaches it at once: it asks by a heartbeat out of turn, which come every 5 s."""

import hashlib

import pytest

from lib.paths import PATIENCE


def channel(function):
    return "pgflow_f_" + hashlib.sha256(function.encode()).hexdigest()[:32]


def beats_out_of_turn(database, wanted=3):
    """Notifies after a heartbeat, and counts those that follow sooner than any in turn, however slow the machine is."""
    function = database.value("select max(function_name) from pgflow.workers where stopped_at is null")
    beat = "select max(last_heartbeat_at)::text from pgflow.workers where stopped_at is null"
    seen = 0
    for _ in range(20):
        before = database.value(beat)
        database.until(f"select ({beat}) > %s", before)
        first = database.value(beat)
        database.rows("select pg_notify(%s, '')", channel(function))
        database.until(f"select ({beat}) > %s", first)
        seen += database.value(f"select ({beat})::timestamptz - %s::timestamptz < interval '2 seconds'", first)
        if seen == wanted:
            return True
    return False


@pytest.mark.parametrize("options", [("--db-connections", "1"), ("--db-connections", "3"),
                                     ("--function", "a name that no channel could have, because it is longer than sixty-three bytes")])
def test_a_running_host_asks_at_once(database, hosts, options):
    hosts.start(*options, queue="noop", plugins=["noop"])
    assert beats_out_of_turn(database)


def test_a_host_that_stands_by_asks_at_once_and_starts(database, hosts):
    host = hosts.start(queue="noop", plugins=["noop"])
    function = database.value("select function_name from pgflow.workers")
    for count in range(1, 6):
        database.rows("select pgflow.disable_worker_functions(array[%s])", function)
        host.log.wait("standby", count=count)
        database.rows("select pgflow.enable_worker_function(%s)", function)
        host.log.wait("ready", count=count + 1)
    database.rows("select pgflow.disable_worker_functions(array[%s])", function)
    host.log.wait("standby", count=6)
    assert beats_out_of_turn(database)


def test_a_cancelled_handler_and_a_deprecated_host_learn_it(database, hosts):
    host = hosts.start(queue="faults", plugins=["faults"])
    run = database.start_flow("faults", {"fault": "spin_politely"})
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and status = 'started'", run)
    database.rows("select pgflow.cancel_run(%s, 'no longer wanted')", run)
    database.wait_run(database.start_flow("faults", {"fault": "echo"}))

    database.rows("select pgflow.deprecate_workers(array(select function_name from pgflow.workers))")
    assert host.wait(PATIENCE) == 0


def test_a_pooled_host_hears_by_heartbeat(database, hosts):
    host = hosts.start("--pooled", queue="noop", plugins=["noop"])
    database.rows("select pgflow.disable_worker_functions(array(select function_name from pgflow.workers))")
    host.log.wait("standby")
