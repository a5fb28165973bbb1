"""Millions of runs in a minute: the rows of one run that the programs made, copied under new ids.

Columns come from the catalogue, so a column that is added later is copied as it is.
"""

import psycopg2

from .server import Database

RUN_TABLES = ("runs", "step_states", "step_tasks")
COLUMNS = """
select a.attname as name from pg_attribute a
where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
order by a.attnum
"""
# Ids that ascend with their number, as those of real runs ascend with time; `salt` keeps rounds apart.
IDS = """
create temp table clone as
select n, %(first)s + n as message_id,
       (lpad(to_hex(extract(epoch from clock_timestamp())::bigint), 10, '0')
        || lpad(to_hex(n), 6, '0') || substr(md5(n || %(salt)s), 1, 16))::uuid as run_id
from generate_series(1, %(count)s) n
"""
SIZES = """
select sum(pg_table_size(relid))::float8 / 1e6 as table_mb, sum(pg_indexes_size(relid))::float8 / 1e6 as index_mb,
       pg_indexes_size('pgmq.q_noop')::float8 / 1e6 as queue_index_mb,
       pg_indexes_size('pgflow.step_tasks')::float8 / 1e6 as task_index_mb
from pg_stat_user_tables
"""


def clone_run(database, count, message_table, delay="0"):
    """Copies the latest run and its message in pgmq.<message_table>, `count` times."""
    source = database.row("select run_id, message_id from pgflow.step_tasks order by queued_at desc limit 1")
    first = database.value("select greatest((select max(msg_id) from pgmq.q_noop), (select max(msg_id) from pgmq.a_noop))")
    with psycopg2.connect(database.url) as connection, connection.cursor() as cursor:
        # The rows are consistent as they are; checking a key for each would take most of the time.
        cursor.execute("set local session_replication_role = replica")
        cursor.execute(IDS, {"first": first, "salt": message_table, "count": count})
        for table in RUN_TABLES:
            copy_rows(cursor, f"pgflow.{table}", {"run_id": "c.run_id", "message_id": "c.message_id"}, "t.run_id", source.run_id)
        changed = {
            "msg_id": "c.message_id",
            "message": "jsonb_set(t.message, '{run_id}', to_jsonb(c.run_id::text))",
            "vt": f"t.vt + interval '{delay}' + c.n * interval '1 microsecond'",
        }
        copy_rows(cursor, f"pgmq.{message_table}", changed, "t.msg_id", source.message_id)
        cursor.execute("select setval(pg_get_serial_sequence('pgmq.q_noop', 'msg_id'), %s)", (first + count,))
    connection.close()
    for table in (*(f"pgflow.{table}" for table in RUN_TABLES), f"pgmq.{message_table}"):
        database.rows(f"vacuum (analyze) {table}")
    database.rows("checkpoint")


def copy_rows(cursor, table, changed, key, value):
    cursor.execute(COLUMNS, (table,))
    names = [row[0] for row in cursor.fetchall()]
    values = [changed.get(name, f't."{name}"') for name in names]
    cursor.execute(
        f"insert into {table} ({', '.join(names)}) overriding system value"
        f" select {', '.join(values)} from clone c cross join {table} t where {key} = %s order by c.n",
        (value,),
    )


def sizes(database: Database):
    """Megabytes: tables, indexes, and of these those of the queue and of the tasks."""
    row = database.row(SIZES)
    return {name: getattr(row, name) for name in row._fields}
