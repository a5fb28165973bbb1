"""Hosts of release 0.1.0 and of this one on one schema: before, during and after an upgrade, and back."""

import uuid

import psycopg2
import pytest

from conftest import a_database, hosts_on
from lib.database import administer
from lib.fleet import assert_ran_once
from lib.killer import Killer
from lib.paths import CTL, module
from lib.programs import Program, environment, run_ctl, run_host
from lib.releases import Release, ServerLog
from lib.rollout import Load, wait_all

QUEUES = {"routed_main": "routed_v1", "routed_mail": "routed_v1", "fan": "fan"}


@pytest.fixture(scope="module")
def release():
    return Release("0.1.0")


@pytest.fixture
def old_database(release):
    """With the schema of release 0.1.0."""
    name = "v1_" + uuid.uuid4().hex[:12]
    release.install(name)
    with a_database(template=name) as made:
        yield made
    administer(f"drop database {name}")


@pytest.fixture
def old_hosts(release, old_database, tmp_path):
    started = release.hosts(old_database, tmp_path)
    yield started
    started.end()


@pytest.fixture
def new_hosts(old_database, tmp_path):
    with hosts_on(old_database, tmp_path) as started:
        yield started


def migrate(database, *options, patience=120):
    return run_ctl("migrate", *options, env={"PGFLOW_DATABASE": database.url}, patience=patience)


def start_all(hosts, release):
    """A host for each queue, under a function that names the release."""
    return [hosts.start("--function", f"{release}-{queue}", "--concurrency", "4", queue=queue, plugins=[plugin], wait=False)
            for queue, plugin in QUEUES.items()]


def wait_ready(started):
    for host in started:
        host.log.wait("ready")


def stop_all(started):
    for host in started:
        host.stop()


def until_served_by(database, release, count=20):
    """Until hosts of this release have completed so many tasks that were started from now on."""
    database.until(
        "select count(*) >= %s from pgflow.step_tasks t join pgflow.workers w on w.worker_id = t.last_worker_id"
        " where t.status = 'completed' and t.started_at > %s and w.function_name like %s || '-%%'",
        count, database.value("select clock_timestamp()"), release, patience=120)


def test_both_releases_work_through_an_upgrade_and_back(release, old_database, old_hosts, new_hosts, tmp_path):
    database, path = old_database, tmp_path / "ran"
    log = ServerLog(database.name)
    old = start_all(old_hosts, "old")
    wait_ready(old)
    loads = [Load(database, flow, run_input, pause=0.02)
             for flow, run_input in (("routed", {"ms": 5, "file": str(path)}), ("fan", {"n": 5})) for _ in range(2)]
    until_served_by(database, "old")

    up = migrate(database)
    assert (up.returncode, up.stderr) == (0, "")
    until_served_by(database, "old")
    new = start_all(new_hosts, "new")
    wait_ready(new)
    until_served_by(database, "old")
    until_served_by(database, "new")
    stop_all(old)
    until_served_by(database, "new")

    old = start_all(old_hosts, "old")
    wait_ready(old)
    stop_all(new)
    down = migrate(database, "--down")
    assert (down.returncode, down.stderr) == (0, "")
    until_served_by(database, "old")
    again = migrate(database)
    assert (again.returncode, again.stderr) == (0, "")
    until_served_by(database, "old")
    for load in loads:
        load.stop()

    runs = [run for load in loads for run in load.runs]
    wait_all(database, runs, patience=120)
    print(f"{len(runs)} runs, longest wait for a lock {log.longest_wait_ms():.0f} ms")
    assert [refusal for load in loads for refusal in load.refusals] == []
    assert log.errors() == []
    assert_ran_once(database, path, "routed%")
    assert database.rows("select * from pgflow.step_tasks where attempts_count <> 1 or requeued_count <> 0") == []
    database.audit()


def test_a_new_host_on_the_older_schema_says_what_to_do(old_database, tmp_path):
    done = run_host("--queue", "fan", "--plugin", module("fan"), "--module-dir", tmp_path / "copies",
                    env={"PGFLOW_DATABASE": old_database.url})

    assert done.returncode == 78, done.stderr
    assert "the schema pgflow is at version 1, this program needs 2; run: pgflowctl migrate" in done.stderr


def test_contract_is_refused_by_name_while_an_old_host_lives(release, old_database, old_hosts):
    old = old_hosts.start("--function", "old-fan", queue="fan", plugins=["fan"])
    assert migrate(old_database).returncode == 0

    refused = migrate(old_database, "--contract")

    assert refused.returncode == 78
    assert "function old-fan" in refused.stderr and f"process {old.pid}" in refused.stderr and "release 0.1.0" in refused.stderr
    assert old_database.row("select * from pgflow.schema_version()") == (2, 1)
    old.stop()
    assert migrate(old_database, "--contract").returncode == 0
    assert old_database.row("select * from pgflow.schema_version()") == (2, 2)
    late = old_hosts.start("--function", "old-fan", queue="fan", plugins=["fan"], wait=False)
    assert late.wait() == 78
    assert "install a newer pgflow-host" in late.said()


def test_nothing_leads_back_from_a_contract(old_database):
    assert migrate(old_database).returncode == 0
    assert migrate(old_database, "--contract").returncode == 0

    refused = migrate(old_database, "--down")

    assert refused.returncode == 78
    assert "the way back is a backup" in refused.stderr


def test_contract_before_the_upgrade_says_what_comes_first(old_database):
    refused = migrate(old_database, "--contract")

    assert refused.returncode == 78
    assert "run first: pgflowctl migrate" in refused.stderr


def test_down_is_refused_by_name_while_a_new_host_lives(old_database, new_hosts):
    assert migrate(old_database).returncode == 0
    new = new_hosts.start("--function", "new-fan", queue="fan", plugins=["fan"])

    refused = migrate(old_database, "--down")

    assert refused.returncode == 78
    assert "function new-fan" in refused.stderr and f"process {new.pid}" in refused.stderr
    assert old_database.row("select * from pgflow.schema_version()") == (2, 1)
    new.stop()
    assert migrate(old_database, "--down").returncode == 0


def test_down_is_refused_by_name_while_a_feature_is_used(old_database):
    assert migrate(old_database).returncode == 0
    old_database.rows("insert into pgflow.function_pins (function_name, deployment, queue_name, module_sets)"
                      " values ('mailer', 'spring', 'mail', '[[\"one\"]]')")

    refused = migrate(old_database, "--down")

    assert refused.returncode == 78
    assert "pins: schema version 1 does not know what is used here" in refused.stderr
    assert "function mailer is pinned to the modules of deployment spring (pgflowctl functions unpin mailer)" in refused.stderr
    assert old_database.row("select * from pgflow.schema_version()") == (2, 1)
    old_database.rows("update pgflow.function_pins set unpinned_at = now()")
    assert migrate(old_database, "--down").returncode == 0


def test_nobody_waits_behind_an_upgrade_that_waits(old_database, tmp_path):
    """A transaction that has a table open keeps the upgrade from it, and the upgrade keeps nobody from it."""
    connection = psycopg2.connect(old_database.url)
    holder = connection.cursor()
    holder.execute("select pg_backend_pid(), (select count(*) from pgflow.workers)")
    pid = holder.fetchone()[0]
    up = Program([CTL, "migrate"], environment(PGFLOW_DATABASE=old_database.url), tmp_path)
    try:
        line = up.log.wait_text("running: process")
        assert f"process {pid} (" in line

        # Both would wait for as long as the holder is there.
        for _ in range(20):
            assert old_database.value("select count(*) from pgflow.workers") == 0
            old_database.rows("update pgflow.workers set info = info")
        assert up.running()

        holder.execute("commit")
        assert up.wait(120) == 0
    finally:
        up.kill()
    assert old_database.row("select * from pgflow.schema_version()") == (2, 1)


# ---- Killed anywhere ----


def killed_at_each_statement(database, *options):
    """Runs migrate so often that it was killed at each of its statements, before and behind it; gives how many."""
    for nth in range(1, 1000):
        for before in (True, False):
            killer = Killer(database, nth, before)
            done = run_ctl("migrate", *options, "--database", killer.url, patience=120)
            killer.close()
            if not killer.reached:
                assert done.returncode == 0, done.stderr
                return nth - 1
            assert done.returncode == -9, done.stderr
    raise AssertionError("it comes to no end")


def test_an_upgrade_killed_at_any_statement_goes_on(old_database, old_hosts):
    """Each attempt is killed one statement later than the one before; an old host works all the while."""
    log = ServerLog(old_database.name)
    old_hosts.start("--function", "old-fan", queue="fan", plugins=["fan"])
    load = Load(old_database, "fan", {"n": 2})

    statements = killed_at_each_statement(old_database)

    assert statements > 5
    assert old_database.row("select * from pgflow.schema_version()") == (2, 1)
    load.stop()
    wait_all(old_database, load.runs)
    assert load.refusals == []
    assert log.errors() == []


def test_a_way_back_killed_at_any_statement_goes_on(old_database):
    assert migrate(old_database).returncode == 0

    statements = killed_at_each_statement(old_database, "--down")

    assert statements > 5
    assert old_database.row("select * from pgflow.schema_version()") == (1, 1)
    assert old_database.value("select to_regclass('pgflow.schema_steps') is null")
    assert migrate(old_database).returncode == 0
