"""A database of its own for each test, copied from one that was migrated once."""

import pathlib
import sys
import threading

import psycopg2
import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "support"))
import cluster  # noqa: E402

PATIENCE = 30  # seconds until a test gives up waiting for an event


class Session:
    """One connection; every call is a transaction of its own until begin()."""

    def __init__(self, database):
        self.connection = psycopg2.connect(dbname=database)
        self.connection.autocommit = True
        self.pid = self.connection.info.backend_pid

    def rows(self, statement, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def value(self, statement, *values):
        return self.rows(statement, *values)[0][0]

    def begin(self):
        self.rows("begin")

    def commit(self):
        self.rows("commit")


class Pending:
    """A statement running in a thread; its outcome is a value or an exception."""

    def __init__(self, session, statement, values):
        self.session = session
        self.error = None
        self.result = None
        self.thread = threading.Thread(target=self._run, args=(statement, values), daemon=True)
        self.thread.start()

    def _run(self, statement, values):
        try:
            self.result = self.session.value(statement, *values)
        except psycopg2.Error as error:
            self.error = error

    def outcome(self):
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the statement is still running"
        return self.error if self.error is not None else self.result


class Database:
    def __init__(self, name):
        self.name = name
        self.sessions = []

    def session(self):
        session = Session(self.name)
        self.sessions.append(session)
        return session

    def start(self, statement, *values):
        return Pending(self.session(), statement, values)

    def wait_until_blocked(self, pending):
        watcher = self.session()
        for _ in range(PATIENCE * 100):
            if watcher.value("select cardinality(pg_blocking_pids(%s)) > 0", pending.session.pid):
                return
            pending.thread.join(0.01)
            assert pending.thread.is_alive(), f"did not wait: {pending.outcome()!r}"
        raise AssertionError("was never blocked")

    def at_once(self, calls):
        """Runs (statement, values...) each in a session of its own, released together."""
        sessions = [self.session() for _ in calls]
        barrier = threading.Barrier(len(calls))
        outcomes = [None] * len(calls)

        def run(index):
            statement, *values = calls[index]
            barrier.wait(PATIENCE)
            try:
                outcomes[index] = sessions[index].value(statement, *values)
            except psycopg2.Error as error:
                outcomes[index] = error

        threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a call is still running"
        return outcomes

    def close(self):
        for session in self.sessions:
            session.connection.close()


@pytest.fixture(scope="session")
def template():
    return cluster.make_template(TESTS / "sql" / "helpers.sql")


@pytest.fixture
def database(template):
    made = Database(cluster.create(template))
    yield made
    made.close()
    cluster.drop(made.name)
