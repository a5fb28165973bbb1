"""A host sleeps and is woken: it polls once an hour here, so a start that wakes nobody is never worked on."""

import threading

import psycopg2
import pytest

RARELY = ("--poll-interval", "3600000", "--log-level", "debug")
LOCKS = """
select l.pid, l.mode from pg_locks l
where l.locktype = 'advisory' and l.classid = -1885826166::bigint & 4294967295
  and l.database = (select oid from pg_database where datname = current_database())
"""


def sleeping(hosts, *options, plugin="noop"):
    host = hosts.start(*RARELY, *options, queue=plugin, plugins=[plugin])
    host.log.wait("idle", to="asleep")
    return host


@pytest.mark.parametrize("connections", [1, 2, 3])
def test_a_sleeping_host_is_woken_by_each_start(database, hosts, connections):
    sleeping(hosts, "--db-connections", connections)

    for _ in range(20):
        database.wait_run(database.start_flow("noop"))


@pytest.mark.parametrize("connections", [1, 2])
def test_steps_that_follow_wake_the_host_that_made_them(database, hosts, connections):
    sleeping(hosts, "--db-connections", connections, plugin="chain")

    for _ in range(5):
        database.wait_run(database.start_flow("chain"))


def test_three_sleepers_are_woken_and_one_may_die(database, hosts):
    three = [sleeping(hosts) for _ in range(3)]
    for _ in range(10):
        database.wait_run(database.start_flow("noop"))
    assert [row.mode for row in database.rows(LOCKS)] == 3 * ["ShareLock"]

    three[0].kill()
    database.until(f"select count(*) = 2 from ({LOCKS}) l")

    for _ in range(10):
        database.wait_run(database.start_flow("noop"))


def test_a_start_that_stays_open_is_found_and_keeps_nobody_waiting(database, hosts):
    sleeping(hosts).stop()
    slow = psycopg2.connect(database.url)
    with slow.cursor() as cursor:
        cursor.execute("select run_id::text from pgflow.start_flow('noop', '{}')")
        run = cursor.fetchone()[0]

    host = hosts.start(*RARELY, queue="noop", plugins=["noop"])
    host.log.wait("idle", to="watched")
    for _ in range(5):
        database.wait_run(database.start_flow("noop"))

    slow.commit()
    slow.close()
    database.wait_run(run)
    host.log.wait("idle", to="asleep")
    database.wait_run(database.start_flow("noop"))


def test_a_backlog_keeps_a_host_awake_and_after_it_the_host_sleeps_again(database, hosts):
    host = sleeping(hosts, "--concurrency", "2")
    count = 2000

    database.rows("select count(*) from pgflow.start_flows('noop', array_fill('{}'::jsonb, array[%s]))", count)

    host.log.wait("idle", to="busy")
    database.until("select count(*) = %s from pgflow.runs where status = 'completed'", count)
    host.log.wait("idle", to="asleep", count=2)
    database.wait_run(database.start_flow("noop"))


def test_many_clients_at_once_leave_nothing_behind(database, hosts):
    for _ in range(2):
        sleeping(hosts)

    def start_some():
        client = psycopg2.connect(database.url)
        client.autocommit = True
        with client.cursor() as cursor:
            for _ in range(100):
                cursor.execute("select from pgflow.start_flow('noop', '{}')")
        client.close()

    clients = [threading.Thread(target=start_some) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()

    database.until("select count(*) = 800 from pgflow.runs where status = 'completed'")


def test_a_host_whose_session_is_lost_goes_idle_again(database, hosts):
    host = sleeping(hosts)
    listening = database.row(LOCKS).pid

    database.rows("select pg_terminate_backend(%s)", listening)

    host.log.wait("idle", to="deaf")
    host.log.wait("idle", to="asleep", count=2)
    assert database.row(LOCKS).pid != listening
    database.wait_run(database.start_flow("noop"))


@pytest.mark.parametrize("option", ["--pooled", "--no-listen"])
def test_who_does_not_listen_takes_no_lock(database, hosts, option):
    hosts.start(option, queue="noop", plugins=["noop"])

    database.wait_run(database.start_flow("noop"))

    assert database.rows(LOCKS) == []


def test_a_host_that_stops_or_stands_by_lets_go(database, hosts):
    host = sleeping(hosts)
    function = database.value("select function_name from pgflow.workers")
    database.rows("select pgflow.disable_worker_functions(array[%s])", function)
    host.log.wait("standby")
    assert database.rows(LOCKS) == []

    database.rows("select pgflow.enable_worker_function(%s)", function)
    host.log.wait("idle", to="asleep", count=2)
    database.wait_run(database.start_flow("noop"))
    host.stop()
    database.until(f"select count(*) = 0 from ({LOCKS}) l")


def test_every_host_says_that_it_need_not_be_notified_unasked(database, hosts):
    for option in ("--pooled", "--no-listen", "--db-connections=1"):
        hosts.start(option, queue="noop", plugins=["noop"])

    assert database.value("select count(*) filter (where not needs_notify) from pgflow.workers") == 3
