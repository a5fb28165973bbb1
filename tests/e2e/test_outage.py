"""PostgreSQL goes away while work runs: nothing lost, nothing that had finished runs again."""

import pytest


def ran(path):
    return [tuple(line.split()[:4]) for line in path.read_text().splitlines()] if path.exists() else []


def each_handler_once(path, tasks):
    lines = ran(path)
    assert len(lines) == len(set(lines)), "a handler that had finished ran again"
    assert len(lines) == tasks


def start_load(database, path, runs, ms):
    return [database.start_flow("chain", {"ms": ms, "file": str(path)}) for _ in range(runs)]


def test_twenty_seconds_without_database_lose_and_repeat_nothing(database, hosts, tmp_path):
    """The last step of `orders` has a timeout of 3 s; its lease must outlast the outage all the same."""
    path = tmp_path / "ran"
    started = [hosts.start("--concurrency", "4", queue="chain", plugins=["chain"])]
    started += [hosts.start("--concurrency", "4", queue=queue, plugins=["orders_v1"]) for queue in ("chaos_main", "chaos_mail")]
    runs = start_load(database, path, runs=8, ms=400)
    runs += [database.start_flow("orders_v1", {"ms": 400, "n": n, "file": str(path)}) for n in range(8)]
    database.until("select count(*) >= 4 from pgflow.step_tasks where status = 'completed' and flow_slug = 'chain'")
    database.until("select count(*) >= 1 from pgflow.step_tasks where status = 'started' and step_slug = 'deliver'")

    database.server("stop")
    for host in started:
        host.log.wait("database_lost")
    seconds_pass(20)
    database.server("start")

    for run in runs:
        database.wait_run(run)
    each_handler_once(path, tasks=48)
    assert database.value("select max(attempts_count) from pgflow.step_tasks") == 1
    for host in started:
        host.stop()
    database.audit()


def seconds_pass(seconds):
    """The length of the outage is what is tested here; nothing announces it."""
    import time

    time.sleep(seconds)


@pytest.mark.parametrize("verbs", [["restart"], ["crash", "start"]])
def test_restart_of_postgres_does_not_end_the_host(database, hosts, tmp_path, verbs):
    path = tmp_path / "ran"
    host = hosts.start("--concurrency", "4", queue="chain", plugins=["chain"])
    runs = start_load(database, path, runs=8, ms=200)
    database.until("select count(*) >= 2 from pgflow.step_tasks where status = 'completed'")

    for verb in verbs:
        database.server(verb)

    for run in runs:
        database.wait_run(run)
    each_handler_once(path, tasks=24)
    assert host.running()


def test_killed_backend_is_reconnected(database, hosts):
    host = hosts.start(queue="noop", plugins=["noop"])

    database.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
    )

    run = database.start_flow("noop")
    database.wait_run(run)
    assert host.running()


def hold_commits_of_claims(database, after):
    """Once so many tasks were claimed, a claim commits and then waits, its answer unsent, for a standby that does not
    exist. Whoever ends its connection there makes a claim whose answer is lost."""
    database.rows(f"alter database \"{database.name}\" set synchronous_commit = local")
    database.rows("set synchronous_commit = local")
    database.rows("create table public.held as select true as held")
    database.rows("create sequence public.claimed")
    database.rows("create function public.hold() returns trigger language plpgsql as $$ begin"
                  f" if nextval('public.claimed') > {after} and (select held from public.held) then"
                  "  perform pg_catalog.set_config('synchronous_commit', 'on', true); end if; return null; end $$")
    database.rows("create trigger hold after update on pgflow.step_tasks for each row when (new.status = 'started')"
                  " execute function public.hold()")
    database.rows("alter system set synchronous_standby_names = 'nobody'")
    database.rows("select pg_reload_conf()")


def release_commits(database):
    database.rows("alter system reset synchronous_standby_names")
    database.rows("select pg_reload_conf()")


def test_a_claim_lost_beside_the_results_is_given_back_though_their_connection_stays(database, hosts):
    hold_commits_of_claims(database, after=300)
    try:
        host = hosts.start(queue="noop", plugins=["noop"])
        database.rows("select from pgflow.start_flows('noop', array_fill('{}'::jsonb, array[2000]))")
        database.until("select count(*) = 1 from pg_stat_activity where wait_event = 'SyncRep'")
        database.rows("update public.held set held = false")
        database.rows("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
    finally:
        release_commits(database)
    host.log.wait("claims_given_back")
    database.until("select count(*) = 2000 from pgflow.step_tasks where status = 'completed'")

    assert not host.log.find("database_lost"), "the results had another connection"
    # Recovery would have waited for the deadlines of the lost tasks.
    assert database.value("select max(requeued_count) from pgflow.step_tasks") == 0
    assert database.value("select max(attempts_count) from pgflow.step_tasks") == 1
    host.stop()


def test_stop_while_the_database_is_away_still_ends_in_time(database, hosts):
    host = hosts.start("--drain-timeout", "1", queue="chain", plugins=["chain"])
    database.start_flow("chain", {"ms": 60000})
    database.until("select count(*) = 1 from pgflow.step_tasks where status = 'started'")
    database.server("stop")
    host.log.wait("database_lost")

    host.stop()

    database.server("start")
