"""Databases of the private PostgreSQL, and the meter over cluster, database and hosts.

Uses the helpers of the end-to-end tests (tests/e2e/lib): one way to start hosts and
to wait for their log.
"""

import os
import pathlib
import subprocess
import sys
import time

import psycopg2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

from lib import database as e2e_database  # noqa: E402  (after the path above)

CALM_SAMPLE, CALM = 0.1, 0.1  # s; the part of the processors that is as good as nothing
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
ROWS = """
select sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint as written,
       sum(n_tup_upd + n_tup_del)::bigint as dead_made,
       sum(n_tup_upd)::bigint as updated, sum(n_tup_hot_upd)::bigint as hot,
       sum(n_dead_tup)::bigint as dead_left
from pg_stat_user_tables
"""


def migrate():
    """The template of all databases."""
    e2e_database.administer(f"create database {e2e_database.TEMPLATE}")
    target = e2e_database.url(e2e_database.TEMPLATE)
    subprocess.run([e2e_database.CTL, "migrate", "--database", target], stdout=subprocess.DEVNULL, check=True, timeout=60)


class Database(e2e_database.Database):
    """A database of the bench; counts what the bench itself asks of it."""

    def __init__(self, template=e2e_database.TEMPLATE):
        super().__init__(template)
        self.asked = 0

    def _rows(self, sql, parameters):
        self.asked += 1
        return super()._rows(sql, parameters)

    def template(self):
        """Let others be copied from this one: nobody may be connected."""
        self._disconnect()
        self._until_alone()
        return self.name

    def _until_alone(self):
        # A session is over a moment after its client closed, and only then are its statistics in.
        with psycopg2.connect(e2e_database.url("postgres")) as connection, connection.cursor() as cursor:
            end = time.monotonic() + 30
            while True:
                cursor.execute("select count(*) from pg_stat_activity where datname = %s", (self.name,))
                if cursor.fetchone()[0] == 0:
                    break
                assert time.monotonic() < end, f"sessions of {self.name} do not end"
                connection.commit()
                time.sleep(0.01)
        connection.close()

    def counters(self):
        """What the server counted so far in this database: exact once nobody else is connected."""
        self._disconnect()
        self._until_alone()
        if int(self.value("show server_version_num")) < 150000:
            time.sleep(1)  # statistics travel through a process of their own there
        rows = self.row(ROWS)
        return {
            "calls": self.value("select xact_commit from pg_stat_database where datname = current_database()"),
            "asked": self.asked,
            "deadlocks": self.value("select deadlocks from pg_stat_database where datname = current_database()"),
            "syncs": wal_syncs(self),
            **{name: getattr(rows, name) or 0 for name in rows._fields},
        }


def wal_syncs(database):
    """Syncs of the log; from 18 on they are counted among all other I/O."""
    if int(database.value("show server_version_num")) >= 180000:
        return int(database.value("select coalesce(sum(fsyncs), 0) from pg_stat_io where object = 'wal'"))
    return int(database.value("select wal_sync from pg_stat_wal"))


def own_time(pid):
    """CPU seconds of a process: the scheduler's nanoseconds, or clock ticks where the kernel keeps no better."""
    try:
        threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9
    except FileNotFoundError:
        own, system, _, _ = tick_counts(pid)
        return (own + system) / CLOCK_TICKS
    except ProcessLookupError:
        return 0.0


def tick_counts(pid):
    """User and system time of a process, then of the children that it has waited for."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0, 0, 0
    return tuple(int(field) for field in fields[11:15])


def children(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def family_time(pid):
    """CPU seconds of a process's children, those that ended included."""
    return sum(tick_counts(pid)[2:]) / CLOCK_TICKS + sum(own_time(child) for child in children(pid))


def machine_time():
    """CPU seconds that all processors together were busy since the machine started."""
    user, nice, system, _, _, interrupt, soft = (
        int(field) for field in pathlib.Path("/proc/stat").read_text(encoding="ascii").split()[1:8]
    )
    return (user + nice + system + interrupt + soft) / CLOCK_TICKS


def wait_calm(patience):
    """Wait, at most so many seconds, for a moment in which nobody else uses the processors."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = machine_time()
        time.sleep(CALM_SAMPLE)
        if machine_time() - before < CALM * os.cpu_count() * CALM_SAMPLE:
            return


def postmaster():
    return int(pathlib.Path(os.environ["PGF_CLUSTER"], "data", "postmaster.pid").read_text().split()[0])


class Meter:
    """What a stretch of work cost: read at its beginning and at its end."""

    def __init__(self, database, hosts=()):
        self._database = database
        self._hosts = hosts
        self._server = postmaster()
        self.begin()

    def begin(self):
        self._at_begin = self._read()

    def end(self):
        return {name: after - self._at_begin[name] for name, after in self._read().items()}

    def _read(self):
        return {
            "seconds": time.monotonic(),
            "wal_bytes": int(self._database.value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")),
            "machine_cpu_s": machine_time(),
            "pg_cpu_s": own_time(self._server) + family_time(self._server),
            "host_cpu_s": sum(own_time(host.pid) for host in self._hosts),
            "runner_cpu_s": sum(family_time(host.pid) for host in self._hosts),
        }
