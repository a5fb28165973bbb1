"""A worker as those of pgflow: the statements that its TypeScript worker sends, in its order, for one flow or one step.

What differs by release: 0.14.1 registers its function before it compiles and knows no queue mode; from 0.17.0 on the
worker sends queue mode and routes, and names queue and step when it starts tasks; 0.17.1 tells its version."""

import collections
import json
import threading
import time
import uuid

import psycopg2
import psycopg2.extras

RELEASES = ("0.14.1", "0.16.0", "0.17.1")


class TsWorker(threading.Thread):
    """Works until stop(). `handler` gets (step, input, flow_input) and gives the output.

    `handled` counts handler executions by task; `refused` has the errors that complete_task answered with.
    """

    def __init__(self, url, release, flow, shape, queue_mode="flow", step=None, handler=None):
        super().__init__(daemon=True)
        self.release, self.flow, self.shape, self.queue_mode, self.step = release, flow, shape, queue_mode, step
        self.handler = handler or (lambda step, *_: {"by": release, "step": step})
        self.id, self.completed, self.error = str(uuid.uuid4()), 0, None
        self.handled, self.refused = collections.Counter(), []
        self.queue = f"{flow}__{step}".lower() if step else flow.lower()
        self.connection = psycopg2.connect(url)
        self.connection.autocommit = True
        self.ended = threading.Event()
        self.began = threading.Event()
        self.start()

    def ask(self, statement, *values):
        with self.connection.cursor(cursor_factory=psycopg2.extras.DictCursor) as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    @property
    def knows_modes(self):
        return self.release.startswith("0.17")

    def compile(self):
        shape = json.dumps(self.shape)
        if not self.knows_modes:
            return self.ask("select pgflow.ensure_flow_compiled(%s, %s::jsonb) as result", self.flow, shape)[0]["result"]
        routes = [{"stepSlug": s["slug"], "queueName": f"{self.flow}__{s['slug']}".lower() if self.queue_mode == "step" else self.flow.lower()}
                  for s in self.shape["steps"]]
        return self.ask("select pgflow.ensure_flow_compiled(%s, %s::jsonb, %s::text, %s::jsonb) as result",
                        self.flow, shape, self.queue_mode, json.dumps(routes))[0]["result"]

    def begin(self):
        if self.release == "0.14.1":
            self.ask("select pgflow.track_worker_function(%s)", f"{self.flow}-worker")
        answer = self.compile()
        assert answer["status"] in ("compiled", "verified", "recompiled"), answer
        if self.release != "0.14.1":
            self.ask("select pgflow.track_worker_function(%s)", f"{self.flow}-worker")
        columns = ["queue_name", "worker_id", "function_name"] + (["pgflow_version"] if self.release == "0.17.1" else [])
        values = [self.queue, self.id, f"{self.flow}-worker"] + ([self.release] if self.release == "0.17.1" else [])
        row = self.ask(f"insert into pgflow.workers ({', '.join(columns)}) values ({', '.join(['%s'] * len(values))}) returning *", *values)[0]
        assert row["worker_id"] == self.id and row["deprecated_at"] is None

    def start_tasks(self, ids):
        if not self.knows_modes:
            return self.ask("select * from pgflow.start_tasks(flow_slug => %s, msg_ids => %s::bigint[], worker_id => %s::uuid)", self.flow, ids, self.id)
        return self.ask("select * from pgflow.start_tasks(flow_slug => %s, msg_ids => %s::bigint[], worker_id => %s::uuid,"
                        " queue_name => %s::text, step_slug => %s::text)", self.flow, ids, self.id, self.queue, self.step)

    def heartbeat(self):
        rows = self.ask("update pgflow.workers as w set last_heartbeat_at = clock_timestamp() where w.worker_id = %s"
                        " returning (w.deprecated_at is not null) as is_deprecated", self.id)
        return bool(rows) and not rows[0]["is_deprecated"]

    def work(self, task):
        flow_input = task["flow_input"]
        if flow_input is None:
            flow_input = self.ask("select input from pgflow.runs where run_id = %s", task["run_id"])[0]["input"]
        self.handled[task["run_id"], task["step_slug"], task["task_index"]] += 1
        try:
            output = self.handler(task["step_slug"], task["input"], flow_input)
        except Exception as error:  # a handler's: reported
            self.fail(task, error)
            return
        try:
            self.ask("select pgflow.complete_task(run_id => %s::uuid, step_slug => %s::text, task_index => %s::int, output => %s::jsonb)",
                     task["run_id"], task["step_slug"], task["task_index"], json.dumps(output))
        except psycopg2.Error as error:  # the TypeScript worker takes it for the handler's own
            self.refused.append(str(error))
            self.fail(task, error)
            return
        self.completed += 1

    def fail(self, task, error):
        self.ask("select pgflow.fail_task(run_id => %s, step_slug => %s, task_index => %s, error_message => %s::text)",
                 task["run_id"], task["step_slug"], task["task_index"], str(error))

    def run(self):
        try:
            self.begin()
            self.began.set()
            beat = time.monotonic()
            while not self.ended.is_set():
                messages = self.ask("select * from pgmq.read_with_poll(queue_name => %s, vt => 2, qty => 10, max_poll_seconds => 1,"
                                    " poll_interval_ms => 50)", self.queue)
                for task in self.start_tasks([m["msg_id"] for m in messages]) if messages else []:
                    self.work(task)
                if time.monotonic() - beat > 1:
                    beat = time.monotonic()
                    if not self.heartbeat():
                        break
            self.ask("select pgflow.mark_worker_stopped(%s::uuid)", self.id)
        except Exception as error:  # told by stop()
            self.error = error
            self.began.set()

    def stop(self):
        self.ended.set()
        self.join(30)
        self.connection.close()
        if self.error:
            raise self.error
