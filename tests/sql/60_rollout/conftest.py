"""A migrated database a test, an operator who may do nothing else, and workers made through the public functions."""

import json
import pathlib
import sys
import uuid

import psycopg2
import psycopg2.extras
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cluster  # noqa: E402
import guide as guides  # noqa: E402


class Worker:
    """A worker row: what a host would do with the database, call by call."""

    def __init__(self, database, queue, function, pairs, build_ids):
        self.database, self.queue, self.function = database, queue, function
        self.pairs = "{" + ",".join(f'"({pair.replace("/", ",")})"' for pair in pairs) + "}"
        self.info = json.dumps(
            {"host": "here", "pid": 7, "protocol": 2, "modules": [{"flow": b, "file": f"{b}.so", "buildId": b} for b in build_ids]})
        self.id = None

    def register(self, standby=False):
        """A fresh process registers: a new id. Gives the database's answer."""
        self.id = str(uuid.uuid4())
        return self._register(standby, None)

    def go_on(self):
        """The process that stands by registers to work, naming its earlier row."""
        before, self.id = self.id, str(uuid.uuid4())
        return self._register(False, before)

    def _register(self, standby, predecessor):
        answer = self.database.value(
            "select pgflow.register_worker(%s, %s, %s, %s::pgflow.task_pair[], %s::jsonb, %s, predecessor => %s)",
            self.id, self.queue, self.function, self.pairs, self.info, standby, predecessor)
        # It stays live however slow the machine is.
        self.database.rows("update pgflow.workers set last_heartbeat_at = clock_timestamp() + interval '1 hour' where worker_id = %s",
                           self.id)
        return answer

    def claim(self):
        """The claimed rows."""
        self.claimed = self.database.rows(
            "select outcome, reason, flow_slug, run_id::text, step_slug, task_index, claim_no"
            " from pgflow.read_and_claim_tasks(%s, 10, 5, %s) order by msg_id", self.queue, self.id)
        return self.claimed

    def outcomes(self):
        return [row.reason or row.outcome for row in self.claim()]

    def finish(self):
        """Completes what the last claim started."""
        started = [row for row in self.claimed if row.outcome == "started"]
        return [row.outcome for row in self.database.rows(
            "select outcome from pgflow.finish_tasks(%s, %s::uuid[], %s, %s, %s, %s, %s, %s) order by item",
            self.id, [row.run_id for row in started], [row.step_slug for row in started],
            [row.task_index for row in started], [row.claim_no for row in started], ["completed"] * len(started),
            ["1"] * len(started), [None] * len(started))]

    def work(self):
        """Claims and completes until the queue is empty; gives the number of tasks."""
        done = 0
        while any(row.outcome == "started" for row in self.claim()):
            done += len(self.finish())
        return done

    def offer(self, flow):
        return self.database.value("select activation from pgflow.offer_activation(%s, %s)", flow, self.id)

    def stop(self):
        self.database.rows("select pgflow.mark_worker_stopped(%s)", self.id)

    def must_stop(self):
        return self.database.value("select must_stop from pgflow.heartbeat(%s)", self.id)


class Database:
    def __init__(self, name):
        self.name = name
        self.connection = psycopg2.connect(dbname=name, cursor_factory=psycopg2.extras.NamedTupleCursor)
        self.connection.autocommit = True

    def rows(self, statement, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def value(self, statement, *values):
        return self.rows(statement, *values)[0][0]

    def deploy(self, flow, alias, steps, routes=None, mode="flow"):
        return self.value("select pgflow.ensure_deployment(%s::jsonb)", json.dumps({
            "flowSlug": flow, "alias": alias, "queueMode": mode, **({"routes": routes} if routes else {}),
            "steps": [{"slug": s.split("<")[0], "dependencies": s.split("<")[1:]} for s in steps]}))

    def start(self, flow):
        return self.value("select flow_slug from pgflow.start_flow(%s, '{}')", flow)

    def worker(self, queue, function, pairs, build_ids):
        return Worker(self, queue, function, pairs, build_ids)

    def track(self, *functions):
        for function in functions:
            self.rows("select pgflow.track_worker_function(%s, 'process')", function)

    def enabled(self):
        return {row.function_name: row.enabled for row in
                self.rows("select function_name, enabled from pgflow.worker_functions")}

    def refusal(self, statement, *values):
        try:
            self.rows(statement, *values)
        except psycopg2.Error as error:
            return f"{error}"
        return None


@pytest.fixture(scope="session")
def template():
    name = cluster.make_template()
    cluster.administer("create role deployer login in role pgflow_operator")
    return name


@pytest.fixture
def database(template):
    made = Database(cluster.create(template))
    yield made
    made.connection.close()
    cluster.drop(made.name)


@pytest.fixture
def guide(database):
    return guides.Guide(database.name, "deployer")
