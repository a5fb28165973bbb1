"""A fresh database with the migration for each test, and sessions on it."""
import pathlib
import select
import sys
import threading
import uuid

import psycopg2
import psycopg2.extras
import pytest

SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import cluster  # noqa: E402


class Session:
    """One connection; every call is a transaction of its own, as in a host."""

    def __init__(self, database, lock_timeout="20s"):
        self.connection = psycopg2.connect(dbname=database)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.run("select set_config('lock_timeout', %s, false)", lock_timeout)
        self.run("set client_min_messages = warning")
        self.run("set jit = off")

    def run(self, statement, *values):
        self.cursor.execute(statement, values or None)
        return self.cursor.fetchall() if self.cursor.description else []

    def one(self, statement, *values):
        return self.run(statement, *values)[0][0]

    def pid(self):
        return self.connection.get_backend_pid()

    def claim(self, worker, queue, qty=10, held=None):
        names = ("outcome", "flow_slug", "run_id", "step_slug", "task_index", "claim_no", "msg_id", "reason")
        rows = self.run(
            f"select {', '.join(names)} from pgflow.read_and_claim_tasks(%s, %s, 5, %s)", queue, qty, worker)
        return [dict(zip(names, row)) for row in rows]

    def finish(self, worker, claims, results, outputs=None):
        outputs = outputs or ["[1, 2]" if result == "completed" else None for result in results]
        errors = [None if result == "completed" else "no" for result in results]
        return self.run(
            "select outcome from pgflow.finish_tasks(%s, %s::uuid[], %s, %s, %s, %s, %s::text[], %s::text[],"
            " array_fill(0, array[%s]))", worker, *keys(claims), results, outputs, errors, len(claims))

    def close(self):
        self.connection.close()


def keys(claims):
    return tuple([claim[name] for claim in claims] for name in ("run_id", "step_slug", "task_index", "claim_no"))


class Background(threading.Thread):
    """Runs a call in another session; result() waits for it and raises what it raised."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.value, self.error = call, None, None
        self.start()

    def run(self):
        try:
            self.value = self.call()
        except Exception as error:  # handed to the test by result()
            self.error = error

    def result(self):
        self.join(60)
        assert not self.is_alive(), "the call is still waiting"
        if self.error:
            raise self.error
        return self.value


class Database:
    def __init__(self, name):
        self.name, self.sessions = name, []

    def session(self, **options):
        session = Session(self.name, **options)
        self.sessions.append(session)
        return session

    def violations(self):
        return self.session().run((SUPPORT / "audit.sql").read_text())

    def wait_until_blocked(self, pid):
        """Returns when the session waits for a lock of another one."""
        watcher = self.session()
        while not watcher.one("select cardinality(pg_blocking_pids(%s)) > 0", pid):
            watcher.run("select pg_sleep(0.01)")


@pytest.fixture(scope="session")
def template():
    return cluster.make_template()


@pytest.fixture
def database(template):
    database = Database(cluster.create(template))
    yield database
    for session in database.sessions:
        session.close()
    cluster.drop(database.name)


@pytest.fixture
def sql(database):
    return database.session()


def deploy(sql, slug, steps, queue=None, alias=None):
    """Steps as {slug: [dependencies]}; a slug that begins with map is a map step. All on one queue, or the flow's own."""
    shape = [{"slug": step, "stepType": "map" if step.startswith("map") else "single", "dependencies": deps}
             for step, deps in steps.items()]
    deployment = {"flowSlug": slug, "alias": alias or slug, "steps": shape,
                  "queueMode": "routed" if queue else "flow",
                  "routes": {step: queue for step in steps} if queue else None}
    sql.run("select pgflow.ensure_deployment(%s)", psycopg2.extras.Json(deployment))


def register(sql, queue, function, pairs, **options):
    worker = str(uuid.uuid4())
    outcome = sql.one(
        "select pgflow.register_worker(%s, %s, %s, (select array_agg(row(f, s)::pgflow.task_pair)"
        " from unnest(%s::text[], %s::text[]) p(f, s)), %s, predecessor => %s)",
        worker, queue, function, [p[0] for p in pairs], [p[1] for p in pairs],
        psycopg2.extras.Json(options.get("info", {})), options.get("predecessor"))
    return worker if outcome == "registered" else None


def notifications(session):
    """Those that have arrived when the server has answered once more."""
    session.run("select 1")
    while select.select([session.connection], [], [], 0)[0]:
        session.connection.poll()
    session.connection.poll()
    found = [(n.channel, n.payload) for n in session.connection.notifies]
    session.connection.notifies.clear()
    return found
