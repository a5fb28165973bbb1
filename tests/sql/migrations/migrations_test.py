"""The migration text: one statement, one transaction, whoever sends it."""
import os
import pathlib
import subprocess
import threading

import psycopg2
import pytest

FILE = os.environ["PGFLOW_MIGRATION"]
TEXT = pathlib.Path(FILE).read_text()

OBJECTS = """
    select 'class', c.oid::regclass::text, c.xmin::text from pg_class c where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
    union all
    select 'proc', p.oid::regprocedure::text, p.xmin::text from pg_proc p where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
    order by 1, 2"""


def test_installs_and_records_its_version(database):
    database.run(TEXT)

    assert database.run("select * from pgflow.schema_version()") == [(2, 1)]
    assert database.run("select version, oldest_host, name from pgflow.schema_migrations") == [(2, 1, "core")]


def test_sending_it_again_changes_nothing(database):
    database.run(TEXT)
    before = database.run(OBJECTS)

    database.run(TEXT)

    assert database.run(OBJECTS) == before
    assert database.run("select count(*) from pgflow.schema_migrations") == [(1,)]


def test_an_old_migration_changes_nothing_on_a_newer_schema(database):
    database.run(TEXT)
    database.run("insert into pgflow.schema_migrations (version, oldest_host, name) values (3, 1, 'later')")

    database.run(TEXT)

    assert database.run("select * from pgflow.schema_version()") == [(3, 1)]


@pytest.mark.parametrize("options", [[], ["-1"]])
def test_psql_applies_it_with_and_without_a_transaction_of_its_own(database, options):
    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *options, "-d", database.name, "-f", FILE],
                          capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert database.run("select * from pgflow.schema_version()") == [(2, 1)]


def test_refuses_a_schema_that_this_project_did_not_make(database):
    database.run("create schema pgflow; create table pgflow.flows (flow_slug text)")

    with pytest.raises(psycopg2.Error) as refused:
        database.run(TEXT)

    assert refused.value.pgcode == "55000"
    assert refused.value.diag.message_primary == 'schema "pgflow" exists and was not made by pgflow-host'
    assert "Use another database" in refused.value.diag.message_hint
    assert database.run("select to_regnamespace('pgmq') is null, count(*) from pg_class where relnamespace = 'pgflow'::regnamespace and relkind = 'r'") == [(True, 1)]


def test_refuses_an_empty_schema_of_that_name_too(database):
    database.run("create schema pgflow")

    with pytest.raises(psycopg2.Error) as refused:
        database.run(TEXT)

    assert refused.value.pgcode == "55000"


def test_refuses_a_queue_schema_older_than_1_5(database):
    database.run("create schema pgmq; create function pgmq.read(text, int, int) returns int language sql as 'select 1'")

    with pytest.raises(psycopg2.Error) as refused:
        database.run(TEXT)

    assert refused.value.diag.message_primary == 'schema "pgmq" exists and is not PGMQ 1.5 or later'
    assert database.run("select to_regnamespace('pgflow') is null") == [(True,)]


def test_leaves_a_queue_schema_alone_that_is_new_enough(database):
    database.run(TEXT)
    database.run("select pgmq.create('kept')")
    before = database.run("select oid::text from pg_proc where pronamespace = 'pgmq'::regnamespace order by 1")
    database.run("drop schema pgflow cascade")

    database.run(TEXT)

    assert database.run("select oid::text from pg_proc where pronamespace = 'pgmq'::regnamespace order by 1") == before
    assert database.run("select queue_name from pgmq.list_queues()") == [("kept",)]


def test_two_at_once_install_once(database):
    errors = []

    def install():
        try:
            database.run(TEXT)
        except psycopg2.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=install) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert database.run("select count(*) from pgflow.schema_migrations") == [(1,)]


def test_an_error_leaves_nothing_behind_and_shows_the_file_it_is_in(database):
    broken = TEXT.replace("create table pgflow.deps (", "create table pgflow.deps (nonsense,", 1)

    with pytest.raises(psycopg2.Error) as failed:
        database.run(broken)

    assert failed.value.diag.internal_query.startswith("-- core/20_definitions/05_table_deps.sql\n")
    assert database.run("select to_regnamespace('pgflow') is null, to_regnamespace('pgmq') is null") == [(True, True)]


def test_every_function_pins_its_search_path_and_compiles(database):
    """Bodies were not checked at installation."""
    if not database.run("select from pg_available_extensions where name = 'plpgsql_check'"):
        pytest.skip("this server has no plpgsql_check; Debian's servers have it by the package postgresql-15-plpgsql-check")
    database.run(TEXT)
    database.run("create extension plpgsql_check")
    # Dynamic SQL over schemas that are not there.
    absent = '(relation|schema) "(cron|vault|net|realtime)'

    unpinned = database.run("""
        select p.oid::regprocedure::text from pg_proc p
        where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
          and not exists (
            select from unnest(p.proconfig) c where c in ('search_path=""', 'search_path=pg_catalog, pg_temp'))""")
    faults = database.run(f"""
        select p.oid::regprocedure::text, c.message, c.query
        from pg_proc p join pg_language l on l.oid = p.prolang,
             lateral plpgsql_check_function_tb(p.oid, other_warnings => false, extra_warnings => false) c
        where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and l.lanname = 'plpgsql'
          and p.prorettype <> 'trigger'::regtype and c.level = 'error' and c.message !~ '{absent}'""")

    assert unpinned == []
    assert faults == []
