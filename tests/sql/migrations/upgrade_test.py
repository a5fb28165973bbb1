"""A database of version 1 becomes what a new one is, and goes back."""
import json
import os
import pathlib
import subprocess

import catalogue
import cluster
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
