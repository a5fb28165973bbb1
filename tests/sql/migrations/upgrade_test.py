"""A database of version 1 becomes what a new one is, and goes back."""
import json
import os
import pathlib
import subprocess

import catalogue
import cluster
import psycopg2
import pytest

FRESH = pathlib.Path(os.environ["PGFLOW_MIGRATION"])
FROZEN = pathlib.Path(os.environ["PGFLOW_FROZEN_MIGRATION"])
PGFLOWCTL = os.environ["PGFLOWCTL"]


def install(database, file):
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.name, "-f", str(file)], check=True)


def migrate(database, *options):
    url = f"postgresql://{os.environ['PGUSER']}@/{database.name}?host={os.environ['PGHOST']}&port={os.environ['PGPORT']}"
    return subprocess.run([PGFLOWCTL, "migrate", "--database", url, *options], capture_output=True, text=True, check=False)


@pytest.fixture
def old(database):
    install(database, FROZEN)
    return database


def read(database):
    connection = database.connect()

    def run(statement):
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return catalogue.read(run)


def installed_at(file):
    """The catalogue of a new database that this file made."""
    from conftest import Database
    fresh = Database(cluster.create())
    try:
        install(fresh, file)
        return read(fresh)
    finally:
        for connection in fresh.connections:
            connection.close()
        cluster.drop(fresh.name)


def explain(found, wanted):
    return "\n".join([f"missing: {line}" for line in sorted(wanted - found)] + [f"too much: {line}" for line in sorted(found - wanted)])


def test_an_upgraded_database_equals_a_new_one(old):
    done = migrate(old)

    assert (done.returncode, done.stderr) == (0, "")
    assert "from version 1 to 2" in done.stdout
    found, wanted = read(old), installed_at(FRESH)
    assert found == wanted, explain(found, wanted)


def test_psql_upgrades_with_the_installed_files(old):
    install(old, FRESH.parent / "0002_expand.sql")
    install(old, FRESH.parent / "0002_flip.sql")

    found, wanted = read(old), installed_at(FRESH)
    assert found == wanted, explain(found, wanted)


def test_the_flip_wants_the_whole_expand(old):
    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", old.name, "-f", str(FRESH.parent / "0002_flip.sql")],
                          capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert old.run("select * from pgflow.schema_version()") == [(1, 1)]


def test_an_upgrade_that_is_repeated_changes_nothing(old):
    migrate(old)
    steps = old.run("select * from pgflow.schema_steps order by 1, 2, 3")

    done = migrate(old)

    assert (done.returncode, done.stderr) == (0, "")
    assert old.run("select * from pgflow.schema_steps order by 1, 2, 3") == steps
    assert old.run("select version, oldest_host from pgflow.schema_migrations order by 1") == [(1, 1), (2, 1)]


def test_the_way_back_leads_to_what_version_1_was(old):
    before = read(old)
    migrate(old)

    done = migrate(old, "--down")

    assert (done.returncode, done.stderr) == (0, "")
    found = read(old)
    assert found == before, "take away in sql/migrations/0002/down what expand brought:\n" + explain(found, before)
    assert old.run("select version, oldest_host, name from pgflow.schema_migrations") == [(1, 1, "core")]


def test_a_new_database_goes_back_too_and_up_again(database):
    install(database, FRESH)
    fresh = read(database)

    down = migrate(database, "--down")

    assert (down.returncode, down.stderr) == (0, "")
    found, wanted = read(database), installed_at(FROZEN)
    assert found == wanted, explain(found, wanted)
    assert migrate(database).returncode == 0
    found = read(database)
    assert found == fresh, explain(found, fresh)


OLD_HOST = "pgflow.register_worker(gen_random_uuid(), 'f', 'old fn', array[('f', 'a')::pgflow.task_pair], '{\"version\": \"0.1.0\"}')"
ROUTINES = "select oid::regprocedure::text from pg_proc where pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)"
CALLERS = """
    select p.oid::regprocedure::text from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and p.prosrc ~ ('pgflow\\.(' || '%s' || ')\\M')"""


@pytest.mark.parametrize("comes_from", ["version 1", "nothing"])
def test_the_contract_waits_for_the_last_old_host_and_removes_what_only_it_needed(database, comes_from):
    if comes_from == "version 1":
        install(database, FROZEN)
    assert migrate(database).returncode == 0
    database.run("select pgflow.create_flow('f'), pgflow.add_step('f', 'a')")
    assert database.run(f"select {OLD_HOST} is not null") == [(True,)]
    before = {name for name, in database.run(ROUTINES)}

    refused = migrate(database, "--contract")

    assert refused.returncode == 78
    assert "hosts are alive that cannot serve schema version 2" in refused.stderr and "function old fn" in refused.stderr
    assert {name for name, in database.run(ROUTINES)} == before
    assert database.run("select * from pgflow.schema_version()") == [(2, 1)]

    database.run("select pgflow.mark_worker_stopped(worker_id) from pgflow.workers")
    done = migrate(database, "--contract")

    assert (done.returncode, done.stderr) == (0, "")
    assert database.run("select * from pgflow.schema_version()") == [(2, 2)]
    gone = before - {name for name, in database.run(ROUTINES)}
    assert gone == {"pgflow._read_messages(text,integer)", "pgflow._create_flow_from_shape(text,jsonb)"}
    names = "|".join(name.split(".")[1].split("(")[0] for name in gone)
    assert database.run(CALLERS % names) == [], "they call what the contract has removed"
    with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState, match="runs hosts of version 2 on"):
        database.run(f"select {OLD_HOST}")
    assert migrate(database, "--contract").returncode == 0
    assert migrate(database).returncode == 0
    assert {name for name, in database.run(ROUTINES)} == before - gone


def test_the_contract_goes_on_where_it_was_killed(database):
    install(database, FRESH)
    database.run("update pgflow.schema_migrations set oldest_host = version where version = 2")
    database.run("drop function pgflow._read_messages(text, int)")

    done = migrate(database, "--contract")

    assert (done.returncode, done.stderr) == (0, "")
    assert database.run("select to_regproc('pgflow._create_flow_from_shape')") == [(None,)]


def test_work_goes_on_after_the_contract(database):
    install(database, FRESH)
    assert migrate(database, "--contract").returncode == 0
    database.run("select pgflow.create_flow('f'), pgflow.add_step('f', 'a')")
    database.run("select pgflow.start_flow('f', '{}')")
    info = '{"version": "0.2.0", "protocol": 2, "schema": {"oldest": 2, "newest": 2}}'
    worker = database.run("select gen_random_uuid()")[0][0]
    database.run(f"select pgflow.register_worker('{worker}', 'f', 'fn', array[('f', 'a')::pgflow.task_pair], '{info}')")

    claimed = database.run(f"select outcome, run_id, claim_no from pgflow.read_and_claim_tasks('f', 1, 5, '{worker}')")

    assert [row[0] for row in claimed] == ["started"]
    assert database.run(f"select outcome from pgflow.finish_tasks('{worker}', '{{{claimed[0][1]}}}', '{{a}}', '{{0}}', "
                        f"'{{{claimed[0][2]}}}', '{{completed}}', '{{1}}', '{{null}}')") == [("completed",)]
    assert database.run("select status from pgflow.runs") == [("completed",)]


def test_the_triggers_of_queues_come_with_maintenance_and_go_on_the_way_back(old):
    triggers = "select tgrelid::regclass::text, tgname::text from pg_trigger where tgname ~ '^pgflow_' order by 1, 2"
    old.run("select pgflow.create_flow('f'), pgflow.add_step('f', 'a')")
    old.run("select pgflow.start_flow('f', '{}')")
    old.run("select pgmq.purge_queue('f')")
    old.run("select pgmq.send('f', '{}')")
    migrate(old)

    old.run("select pgflow.maintain()")
    watched = old.run(triggers)
    healed = old.run("select count(*) from pgflow.step_tasks t join pgmq.q_f m on m.msg_id = t.message_id")
    down = migrate(old, "--down")

    assert watched == [("pgmq.q_f", "pgflow_purged"), ("pgmq.q_f", "pgflow_taken")]
    assert healed == [(1,)]
    assert (down.returncode, down.stderr) == (0, "")
    assert old.run(triggers) == []
    assert old.run("select pgmq.purge_queue('f')") == [(2,)]


def test_json_tells_both_versions(old):
    assert json.loads(migrate(old, "--json").stdout) == {"before": 1, "after": 2, "program": 2}
    assert json.loads(migrate(old, "--down", "--json").stdout) == {"before": 2, "after": 1, "program": 2}


def test_the_text_for_new_databases_refuses_an_earlier_version(old):
    before = read(old)

    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", old.name, "-f", str(FRESH)],
                          capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert "Upgrade it under running work: pgflowctl migrate." in done.stderr
    assert read(old) == before
