"""Hosts of version 1 run beside those of version 2: nothing that they call or read is dropped or takes another shape."""
import hashlib
import os
import pathlib
import subprocess

import cluster
import psycopg2
import pytest

FRESH = pathlib.Path(os.environ["PGFLOW_MIGRATION"])
FROZEN = pathlib.Path(os.environ["PGFLOW_FROZEN_MIGRATION"])
# Of the release that shipped it.
FROZEN_SHA256 = "c695e2b7882fc2ab1bd2fcceec457d98715e2c74883d31ecc43f1591527f9557"

# Called by no host: they may take another shape, dropped and made again in the flip's transaction.
CLIENTS_ONLY = {"ensure_flow_compiled", "start_tasks", "delete_flow_and_data"}

FUNCTIONS = """
    select p.proname, p.oid::regprocedure::text,
           pg_get_function_arguments(p.oid) || ' returns ' || pg_get_function_result(p.oid)
    from pg_proc p where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)"""
GRANTS = """
    select p.proname, p.oid::regprocedure::text || ' to ' || a.grantee::regrole::text
    from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    where p.pronamespace = 'pgflow'::regnamespace and a.privilege_type = 'EXECUTE' and a.grantee <> 0"""
COLUMNS = """
    select c.oid::regclass::text, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
           pg_get_expr(d.adbin, d.adrelid)
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind in ('r', 'c')
    order by c.oid, a.attnum"""


@pytest.fixture(scope="module")
def versions():
    """Gives the rows of a query in a database of version 1 and in a new one."""
    names = []
    for file in (FROZEN, FRESH):
        names.append(cluster.create())
        subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", names[-1], "-f", str(file)], check=True)
    connections = [psycopg2.connect(dbname=name) for name in names]

    def run(query):
        answers = []
        for connection in connections:
            with connection, connection.cursor() as cursor:
                cursor.execute("set search_path = pg_catalog")
                cursor.execute(query)
                answers.append(cursor.fetchall())
        return answers

    yield run
    for connection, name in zip(connections, names):
        connection.close()
        cluster.drop(name)


def test_the_frozen_text_is_the_one_that_was_released():
    assert hashlib.sha256(FROZEN.read_bytes()).hexdigest() == FROZEN_SHA256


def test_every_function_is_still_there_with_arguments_defaults_and_result(versions):
    before, now = versions(FUNCTIONS)
    shapes = {routine: shape for _, routine, shape in now}

    changed = {routine: (shape, shapes.get(routine)) for name, routine, shape in before
               if name not in CLIENTS_ONLY and shapes.get(routine) != shape}

    assert changed == {}, "a function of version 1 keeps its shape; new behaviour of another shape gets another name"


def test_whoever_could_call_a_function_still_can(versions):
    before, now = versions(GRANTS)

    lost = {grant for name, grant in before if name not in CLIENTS_ONLY} - {grant for _, grant in now}

    assert lost == set()


def columns(rows, kind):
    tables = {}
    for table, relkind, *column in rows:
        if relkind == kind:
            tables.setdefault(table, []).append(tuple(column))
    return tables


def test_composite_types_do_not_change(versions):
    before, now = (columns(rows, "c") for rows in versions(COLUMNS))

    changed = {name: (attributes, now.get(name)) for name, attributes in before.items() if now.get(name) != attributes}

    assert changed == {}, "a type of version 1 is what its hosts read; a new one gets another name"


def test_tables_only_gain_columns_at_the_end(versions):
    before, now = (columns(rows, "r") for rows in versions(COLUMNS))

    for table, known in before.items():
        assert now.get(table, [])[:len(known)] == known, table
        for name, _, is_required, default in now[table][len(known):]:
            assert not is_required or default is not None, f"{table}.{name}: functions of version 1 do not fill it"


# Of functions that operators call by hand, in statements that they do not prepare; pgflowctl prints the columns by name.
READ_BY_NAME = {"pgflow.deployment_manifest"}

RESULTS = """
    select p.oid::regprocedure::text, p.prorettype::regtype::text
    from pg_proc p join pg_type t on t.oid = p.prorettype join pg_class c on c.oid = t.typrelid and c.relkind = 'r'
    where p.pronamespace = 'pgflow'::regnamespace and p.proname !~ '^_'"""


def test_no_more_functions_of_the_api_return_the_row_of_a_table(versions):
    before, now = versions(RESULTS)

    assert [row for row in now if row not in before] == [], "name the columns of the result: tables gain more"


def test_a_table_whose_row_is_a_result_gains_no_column(versions):
    """A caller that prepared `select * from pgflow.start_flow(...)` would meet 0A000."""
    returned, _ = versions(RESULTS)
    before, now = (columns(rows, "r") for rows in versions(COLUMNS))

    assert returned
    for routine, table in (row for row in returned if row[1] not in READ_BY_NAME):
        assert now[table] == before[table], f"{table} is the result of {routine}: give what is new a table of its own"
