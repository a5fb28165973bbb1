"""Everything at once: eight sessions, the same runs, thousands of operations.

No deadlock, no wait beyond the lock timeout, and afterwards every invariant
holds and every run can be brought to its end. The random order is seeded; what
interleaves is up to the machine.
"""
import random
import threading
import uuid

import psycopg2

from conftest import deploy, keys, register

OPERATIONS = 600  # a session
SESSIONS = 8

FLOWS = {
    "shared_v1": {"a": [], "map_b": ["a"], "c": ["map_b"]},
    "shared_v2": {"a": [], "b": [], "c": ["a", "b"], "d": ["c"]},
}
QUEUES = {"shared_q": "shared_fn", "plain": "plain_fn"}
# Answers to a call that a neighbour's deletion, disable or retirement has overtaken.
EXPECTED = {"42704", "42P01", "55000"}


def deploy_all(sql):
    for slug, steps in FLOWS.items():
        deploy(sql, slug, steps, queue="shared_q", alias="shared")
    deploy(sql, "plain", {"a": [], "map_b": ["a"], "c": ["map_b"]})


def pairs_on(queue):
    flows = {"plain": {"a": [], "map_b": [], "c": []}} if queue == "plain" else {
        **FLOWS, "passing": {"a": [], "b": []}}
    return [(flow, step) for flow, steps in flows.items() for step in steps]


class Worker:
    """One session's host: a registration a queue and the claims that it has in hand."""

    def __init__(self, session, seed):
        self.session, self.random = session, random.Random(seed)
        self.ids, self.claims, self.errors, self.outcomes = {}, {q: [] for q in QUEUES}, [], {}

    def choose(self):
        operation = self.random.choices(list(OPERATION_WEIGHTS), OPERATION_WEIGHTS.values())[0]
        try:
            operation(self)
        except psycopg2.Error as error:
            if error.pgcode not in EXPECTED:
                self.errors.append(f"{operation.__name__}: {error.pgcode} {error}")

    def queue(self):
        return self.random.choice(list(QUEUES))

    def start(self):
        slug = self.random.choice(["shared", "shared_v1", "shared_v2", "plain", "passing"])
        self.session.run("select pgflow.start_flows(%s, array_fill('{\"x\": 1}'::jsonb, array[%s]))", slug, self.random.randint(1, 4))

    def claim(self):
        queue = self.queue()
        if queue not in self.ids:
            self.ids[queue] = register(self.session, queue, QUEUES[queue], pairs_on(queue))
        rows = self.session.claim(self.ids[queue] or str(uuid.uuid4()), queue, self.random.randint(1, 20))
        for row in rows:
            self.outcomes[row["outcome"]] = self.outcomes.get(row["outcome"], 0) + 1
        self.claims[queue] += [row for row in rows if row["outcome"] == "started"]
        if rows[0]["outcome"] == "fenced":
            self.ids.pop(queue)

    def take(self, queue):
        """Some claims in hand; one in ten stays and is reported again, which must change nothing."""
        self.random.shuffle(self.claims[queue])
        taken = self.claims[queue][:self.random.randint(1, 20)]
        self.claims[queue] = self.claims[queue][len(taken):] + [c for c in taken if self.random.random() < 0.1]
        return taken

    def finish(self):
        queue = self.queue()
        taken = self.take(queue)
        if taken and self.ids.get(queue):
            self.session.finish(self.ids[queue], taken, self.random.choices(
                ["completed", "failed", "permanent"], [20, 3, 1], k=len(taken)))

    def release(self):
        queue = self.queue()
        taken = self.take(queue)
        if taken and self.ids.get(queue):
            self.session.run(
                "select * from pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array_fill(true, array[%s]), 0)",
                self.ids[queue], *keys(taken), len(taken))

    def release_except(self):
        queue = self.queue()
        if self.ids.get(queue):
            self.session.run("select pgflow.release_tasks_except(%s, %s::uuid[], %s::text[], %s::int[], %s::int[])",
                             self.ids[queue], *keys(self.claims[queue][:10]))
            self.claims[queue] = self.claims[queue][:10]

    def heartbeat(self):
        for worker in filter(None, self.ids.values()):
            self.session.run("select * from pgflow.heartbeat(%s, (select array_agg(run_id) from pgflow.runs))", worker)

    def recover(self):
        self.session.run(
            "update pgflow.step_tasks t set recover_at = clock_timestamp() from (select run_id, step_slug, task_index"
            " from pgflow.step_tasks where status = 'started' and random() < 0.2 for update skip locked) o"
            " where (t.run_id, t.step_slug, t.task_index) = (o.run_id, o.step_slug, o.task_index)")
        self.session.run("select pgflow.maintain()" if self.random.random() < 0.5 else "select pgflow.requeue_stalled_tasks()")

    def cancel(self):
        for run, in self.session.run("select run_id from pgflow.runs where status = 'started' order by random() limit 2"):
            self.session.run("select pgflow.cancel_run(%s, 'enough')", run)

    def prune(self):
        self.session.run("select pgflow.prune_data_older_than('0 seconds', %s)", self.random.randint(1, 30))

    def delete(self):
        self.session.run("select pgflow.delete_flow_and_data('passing')")

    def compile(self):
        deploy(self.session, "passing", {"a": [], "b": []}, queue="shared_q")

    def switch(self):
        self.session.run("select pgflow.activate_flow('shared', %s, true)", self.random.choice(list(FLOWS)))

    def disable(self):
        self.session.run("select pgflow.disable_worker_functions(%s)", list(QUEUES.values()))

    def enable(self):
        self.session.run("select pgflow.enable_worker_function(%s)", self.random.choice(list(QUEUES.values())))

    def deprecate(self):
        self.session.run("select pgflow.deprecate_workers(%s)", [self.random.choice(list(QUEUES.values()))])

    def reregister(self):
        queue = self.queue()
        if self.ids.get(queue):
            self.ids[queue] = register(self.session, queue, QUEUES[queue], pairs_on(queue), predecessor=self.ids[queue])

    def stop(self):
        worker = self.ids.pop(self.queue(), None)
        self.session.run("select pgflow.mark_worker_stopped(%s)", worker)

    def trip_guard(self):
        leftover = register(self.session, "shared_q", "leftover_fn", [("shared_v1", "a")])
        if leftover:
            self.session.claim(leftover, "shared_q", 3)
            self.session.run("select pgflow.mark_worker_stopped(%s)", leftover)
        self.session.run("select pgflow.enable_worker_function('leftover_fn')")

    def old_form(self):
        read = self.session.run("select msg_id from pgmq.read('plain', 1, 5)")
        for run, step, index in self.session.run(
                "select run_id, step_slug, task_index from pgflow.start_tasks('plain', %s, %s)",
                [r[0] for r in read], str(uuid.UUID(int=self.random.getrandbits(128)))):
            if self.random.random() < 0.7:
                self.session.run("select pgflow.complete_task(%s, %s, %s, '[1]')", run, step, index)
            else:
                self.session.run("select pgflow.fail_task(%s, %s, %s, 'no', retry_after => 0)", run, step, index)

    def coverage(self):
        self.session.run("select * from pgflow.queue_coverage('shared_q')")
        self.session.run("select * from pgflow.drain_status('shared_v1')")


OPERATION_WEIGHTS = {
    Worker.start: 14, Worker.claim: 30, Worker.finish: 30, Worker.release: 4, Worker.release_except: 2,
    Worker.heartbeat: 3, Worker.recover: 3, Worker.cancel: 2, Worker.prune: 2, Worker.delete: 1, Worker.compile: 2,
    Worker.switch: 1, Worker.disable: 1, Worker.enable: 5, Worker.deprecate: 1, Worker.reregister: 2,
    Worker.stop: 1, Worker.trip_guard: 1, Worker.old_form: 4, Worker.coverage: 1,
}


def bring_to_the_end(sql):
    """A good host on every queue, until no run is left."""
    workers = {}
    for queue, function in QUEUES.items():
        sql.run("select pgflow.enable_worker_function(%s)", function)
        workers[queue] = register(sql, queue, function, pairs_on(queue))
    sql.run("select pgflow.release_tasks_except(w.worker_id, '{}', '{}', '{}', '{}') from pgflow.workers w")
    sql.run("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
    while sql.one("select pgflow.requeue_stalled_tasks()"):
        pass
    for _ in range(200):
        for queue, worker in workers.items():
            sql.run(f"update pgmq.q_{queue} set vt = clock_timestamp()")
            claims = [c for c in sql.claim(worker, queue, 1000) if c["outcome"] == "started"]
            if claims:
                sql.finish(worker, claims, ["completed"] * len(claims))
        if sql.one("select count(*) from pgflow.runs where status = 'started'") == 0:
            return


def test_eight_sessions_around_the_same_runs_end_in_a_sound_database(database, sql):
    deploy_all(sql)
    hosts = [Worker(database.session(), seed) for seed in range(SESSIONS)]

    threads = [threading.Thread(target=lambda host=host: [host.choose() for _ in range(OPERATIONS)]) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [error for host in hosts for error in host.errors] == []
    assert database.violations() == []
    assert sum(host.outcomes.get("started", 0) for host in hosts) > 500

    bring_to_the_end(sql)

    assert sql.one("select count(*) from pgflow.runs where status = 'started'") == 0
    assert database.violations() == []
    assert sql.run("select sum(queue_length) from pgmq.list_queues() q, pgmq.metrics(q.queue_name)") == [(0,)]


def test_four_sessions_starting_and_two_claiming_never_see_a_foreign_message(database, sql):
    deploy_all(sql)
    starters, claimers = [database.session() for _ in range(4)], [database.session() for _ in range(2)]
    workers = [register(session, "shared_q", "shared_fn", pairs_on("shared_q")) for session in claimers]
    seen, errors, left = {}, [], [len(starters)]

    def start(session):
        try:
            for number in range(150):
                session.run("select pgflow.start_flow(%s, '{}')", "shared_v1" if number % 2 else "shared_v2")
        except psycopg2.Error as error:
            errors.append(error)
        finally:
            left[0] -= 1

    def claim(session, worker):
        try:
            while True:
                was_last = left[0] == 0
                rows = session.claim(worker, "shared_q", 7)
                for row in rows:
                    seen.setdefault(row["outcome"], []).append((row["msg_id"]))
                if was_last and rows[0]["outcome"] == "empty":
                    return
        except psycopg2.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=start, args=(s,)) for s in starters]
    threads += [threading.Thread(target=claim, args=pair) for pair in zip(claimers, workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert set(seen) <= {"started", "empty", "busy"}
    assert len(seen["started"]) == len(set(seen["started"])) == 4 * (75 + 2 * 75)
    assert database.violations() == []
