"""docs/operations/backup.md: its blocks as they stand, on databases restored in each of its ways."""

import os
import pathlib
import re
import subprocess

import psycopg2
import pytest

from lib.database import Database, administer, url
from lib.paths import SOURCE
from lib.programs import Hosts, Program, run_ctl, wait_until
from lib.standby import PORT, _as_server

PAGE = SOURCE / "docs" / "operations" / "backup.md"
BLOCKS = dict(re.findall(r"^<!-- backup: (\w+) -->\n```sql\n(.*?)^```$", PAGE.read_text(), re.M | re.S))
BIN = pathlib.Path(os.environ["PGBIN"])
NEEDED = ["pg_dump", "pg_restore", "pg_basebackup"]
pytestmark = pytest.mark.skipif(
    not all((BIN / name).exists() for name in NEEDED), reason=f"{BIN} lacks one of {NEEDED}")


def run(program, *arguments):
    subprocess.run([BIN / program, *map(str, arguments)], check=True, timeout=300)


@pytest.fixture
def restored():
    database = Database(template=None)
    yield database
    database.close()


@pytest.fixture
def working(database, hosts):
    """A host in the midst of forty runs; gives their ids."""
    hosts.start("--concurrency", "4", queue="chain", plugins=["chain"])
    runs = [database.start_flow("chain", {"ms": 50}) for _ in range(40)]
    database.until("select count(*) >= 5 from pgflow.step_tasks where status = 'completed'")
    return runs


def bring_to_the_end(database, folder, runs):
    """Tasks that ran at the backup are past their deadline at once, and recovered by us: a host does it half a minute
    after its start at the earliest."""
    hosts = Hosts(database, folder)
    try:
        database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
        hosts.start("--concurrency", "8", queue="chain", plugins=["chain"])
        database.rows("select pgflow.maintain()")
        database.until("select count(*) = 0 from pgflow.runs where status = 'started'")
        assert database.rows("select status, count(*) from pgflow.runs where run_id = any (%s::uuid[]) group by 1", runs) \
            == [("completed", len(runs))]
        database.wait_run(database.start_flow("chain"))
    finally:
        hosts.end()


def dump_and_restore(database, restored, folder, *options):
    run("pg_dump", "--format=custom", "--file", folder / "dump", *options, database.name)
    run("pg_restore", "--exit-on-error", "--dbname", restored.name, folder / "dump")


def test_a_dump_taken_under_work_goes_on_where_it_was(database, restored, hosts, working, tmp_path):
    dump_and_restore(database, restored, tmp_path)
    hosts.end()
    restored.rows("analyze")

    said = run_ctl("doctor", "--json", env={"PGFLOW_DATABASE": restored.url}).stdout
    assert "no message" not in said and "no table" not in said
    bring_to_the_end(restored, tmp_path, working)
    restored.audit()


def test_a_dump_without_the_tables_of_queues_gets_its_messages_again(database, restored, hosts, working, tmp_path):
    # As of the extension: what it knows of queues may be in the dump, their tables are not.
    dump_and_restore(database, restored, tmp_path, "--exclude-table=pgmq.q_*", "--exclude-table=pgmq.a_*")
    hosts.end()
    assert restored.value("select to_regclass('pgmq.q_chain')") is None

    restored.rows(BLOCKS["queues"])

    bring_to_the_end(restored, tmp_path, working)
    assert restored.rows("select * from pgflow.lost_tasks()") == []


def test_the_schema_pgflow_alone_gets_its_messages_again(database, restored, hosts, working, tmp_path):
    dump_and_restore(database, restored, tmp_path)
    hosts.end()
    restored.rows("drop table pgmq.q_chain, pgmq.a_chain")
    restored.rows("truncate pgmq.meta")

    restored.rows(BLOCKS["queues"])

    bring_to_the_end(restored, tmp_path, working)


@pytest.fixture
def logical(database):
    administer("alter system set wal_level = logical")
    database.server("restart")
    yield
    administer("alter system reset wal_level")
    database.server("restart")


def test_a_logical_replica_takes_over(logical, database, restored, hosts, working, tmp_path):
    run("pg_dump", "--schema-only", "--no-publications", "--file", tmp_path / "schema.sql", database.name)
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", restored.name, "-f", tmp_path / "schema.sql"], check=True)
    slot = f"move_{database.name}"
    database.rows("create publication move for all tables")
    # By hand: on one server the subscription would wait for itself.
    database.rows("select pg_create_logical_replication_slot(%s, 'pgoutput')", slot)
    restored.rows(f"create subscription move connection 'dbname={database.name} host={os.environ['PGHOST']}"
                  f" port={os.environ['PGPORT']} user={os.environ['PGUSER']}' publication move"
                  f" with (create_slot = false, slot_name = {slot})")
    try:
        restored.until("select bool_and(srsubstate = 'r') from pg_subscription_rel")
        hosts.end()
        end = database.value("select pg_current_wal_lsn()")
        database.until("select coalesce(bool_and(confirmed_flush_lsn >= %s::pg_lsn), false)"
                       " from pg_replication_slots where slot_name = %s", end, slot)
    finally:
        restored.rows("alter subscription move disable")
        restored.rows("alter subscription move set (slot_name = none)")
        restored.rows("drop subscription move")
        database.until("select not active from pg_replication_slots where slot_name = %s", slot)
        database.rows("select pg_drop_replication_slot(%s)", slot)
    restored.rows(BLOCKS["sequences"])
    restored.rows("analyze")

    bring_to_the_end(restored, tmp_path, working)
    restored.rows("select pgflow.activate_flow('chain', 'chain', true)")
    restored.rows("insert into pgflow.alias_switches (alias) values ('chain')")  # an id of its own
    restored.audit()


class At(Database):
    """The same database on the server that was recovered."""

    def __init__(self, name):
        self.name = name
        self.url = url(name).replace(f"port={os.environ['PGPORT']}", f"port={PORT}")
        self._connection = None

    def close(self):
        self._disconnect()


def test_a_point_in_time_before_a_mistake(database, hosts, working, tmp_path):
    cluster = pathlib.Path(os.environ["PGF_CLUSTER"])
    archive, folder = cluster / "archive", cluster / "recovered"
    owner = (cluster / "data").stat()
    for made in (archive, folder):
        made.mkdir(mode=0o700)
        os.chown(made, owner.st_uid, owner.st_gid)
    administer("alter system set archive_mode = on", f"alter system set archive_command = 'cp %p {archive}/%f'")
    database.server("restart")
    subprocess.run(_as_server([str(BIN / "pg_basebackup"), "-D", str(folder), "-X", "none", "-c", "fast", "--no-sync"]),
                   check=True, timeout=300, cwd="/")
    database.until("select count(*) >= 20 from pgflow.step_tasks where status = 'completed'")
    database.rows("select pg_create_restore_point('before')")
    hosts.end()
    database.rows("select pgflow.delete_flow_and_data('chain')")
    segment = database.value("select pg_walfile_name(pg_switch_wal())")
    wait_until(lambda: (archive / segment).exists())
    with open(folder / "postgresql.auto.conf", "a", encoding="utf-8") as settings:
        settings.write(f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_name = 'before'\n"
                       "recovery_target_action = 'promote'\narchive_mode = off\n")
    (folder / "recovery.signal").touch()

    server = Program(_as_server([BIN / "postgres", "-D", folder, "-p", str(PORT)]), dict(os.environ), cluster)
    recovered = At(database.name)
    try:
        def is_open():
            try:
                return not recovered.value("select pg_is_in_recovery()")
            except psycopg2.OperationalError:
                return False

        wait_until(is_open)
        bring_to_the_end(recovered, tmp_path, working)
        recovered.audit()
    finally:
        recovered.close()
        server.kill()
        administer("alter system reset archive_mode", "alter system reset archive_command")
        database.server("restart")
