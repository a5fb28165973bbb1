"""Databases of the private cluster: one a test, made from a migrated template."""

import os
import subprocess
import sys
import time

import psycopg2
import psycopg2.extras

from .paths import CTL, PATIENCE, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "support"))
import cluster  # noqa: E402
from cluster import administer  # noqa: E402

TEMPLATE = "pgflow_migrated"


def url(name):
    return f"postgresql://{os.environ['PGUSER']}@/{name}?host={os.environ['PGHOST']}&port={os.environ['PGPORT']}"


def make_template():
    administer(f"create database {TEMPLATE}")
    cluster.begin_with_version_1(TEMPLATE)
    subprocess.run([CTL, "migrate", "--database", url(TEMPLATE)], check=True, timeout=PATIENCE)


class Database:
    """A database of its own for one test, with autocommit and named columns."""

    def __init__(self, template=TEMPLATE):
        self.name = cluster.create(template)
        self.url = url(self.name)
        self._connection = None

    def _cursor(self):
        if self._connection is None or self._connection.closed:
            self._connection = psycopg2.connect(self.url, cursor_factory=psycopg2.extras.NamedTupleCursor)
            self._connection.autocommit = True
        return self._connection.cursor()

    def rows(self, sql, *parameters):
        try:
            return self._rows(sql, parameters)
        except psycopg2.DatabaseError as error:
            # No SQLSTATE: the server was restarted meanwhile. Once more, on a new connection.
            if error.pgcode is not None or self._connection is None:
                raise
            self._connection.close()
            return self._rows(sql, parameters)

    def _rows(self, sql, parameters):
        with self._cursor() as cursor:
            # Without parameters a % is a %.
            cursor.execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def row(self, sql, *parameters):
        found = self.rows(sql, *parameters)
        assert len(found) == 1, f"{len(found)} rows instead of one: {sql}"
        return found[0]

    def value(self, sql, *parameters):
        return self.row(sql, *parameters)[0]

    def until(self, sql, *parameters, patience=PATIENCE):
        """Ask until the answer is true: for changes that no log line announces."""
        end = time.monotonic() + patience
        while True:
            answer = self.value(sql, *parameters)
            if answer:
                return answer
            assert time.monotonic() < end, f"still {answer!r} after {patience:.0f} s: {sql} {parameters}"
            time.sleep(0.02)

    def start_flow(self, flow, run_input=None):
        """Start a run and give its id."""
        return self.value(
            "select run_id::text from pgflow.start_flow(%s, %s)", flow, psycopg2.extras.Json(run_input or {})
        )

    def run(self, run_id):
        return self.row("select * from pgflow.runs where run_id = %s", run_id)

    def wait_run(self, run_id, status="completed", patience=PATIENCE):
        """Wait for the end of a run and check how it ended."""
        self.until(
            "select status <> 'started' from pgflow.runs where run_id = %s", run_id, patience=patience
        )
        run = self.run(run_id)
        assert run.status == status, f"run {run.status}: {self.errors(run_id)}"
        return run

    def errors(self, run_id):
        return self.rows(
            "select step_slug, task_index, status, attempts_count, error_message from pgflow.step_tasks"
            " where run_id = %s and error_message is not null order by 1, 2",
            run_id,
        )

    def task(self, run_id, step, index=0):
        return self.row(
            "select * from pgflow.step_tasks where run_id = %s and step_slug = %s and task_index = %s",
            run_id,
            step,
            index,
        )

    def audit(self):
        """The invariants of tests/support/audit.sql: no row that breaks one."""
        found = self.rows((SOURCE / "tests" / "support" / "audit.sql").read_text())
        assert found == [], f"the audit found: {found}"

    def server(self, verb):
        """stop, start, restart or crash the PostgreSQL of this file's tests."""
        self._disconnect()
        subprocess.run(["pg-control", verb], check=True, timeout=120)

    def _disconnect(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self):
        self._disconnect()
        cluster.drop(self.name)
