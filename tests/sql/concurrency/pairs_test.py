"""Every pair of calls at once, with queues that are purged, dropped and made anew among them.

One lock order for all: no deadlock, no error but those that say what a neighbour did, and afterwards one round of
maintenance has given every queued task its message. The order is seeded; what interleaves is up to the machine.
"""
import random
import threading
import uuid

import psycopg2
import pytest
from psycopg2.extras import Json

from conftest import Background, deploy, keys, register

CALLS = 10  # each of the two sessions, a pair
STEPS = {"a": [], "b": ["a"], "c": []}
PRIVATE = [f"doomed__{step}" for step in STEPS]
QUEUES = [*PRIVATE, "plain", "shared_q"]
# Answers to a call that the other has overtaken: the flow or its queue is gone or refused, the ids of a queue made anew
# name old tasks until somebody has looked, repeat.
EXPECTED = {"42704", "42P01", "55000", "23505", "40001"}


def deploy_doomed(sql):
    sql.run("select pgflow.ensure_deployment(%s)", Json({
        "flowSlug": "doomed", "alias": "doomed", "queueMode": "step",
        "steps": [{"slug": step, "stepType": "single", "dependencies": needs} for step, needs in STEPS.items()]}))


def deploy_shared(sql):
    deploy(sql, "routed_v1", {"a": [], "b": ["a"]}, queue="shared_q")


class Caller:
    """One session, with a worker a queue; each method is one of the calls."""

    def __init__(self, session, seed):
        self.session, self.random, self.workers = session, random.Random(seed), {}

    def flow(self):
        return self.random.choice(["doomed", "plain", "routed_v1"])

    def queue(self):
        return self.random.choice(QUEUES)

    def started(self):
        """Claims of this session's worker on some queue, which it has now."""
        queue = self.queue()
        if queue not in self.workers:
            pairs = [(flow, step) for flow in ("doomed", "plain", "routed_v1") for step in STEPS]
            self.workers[queue] = register(self.session, queue, f"fn_{queue}", pairs)
        rows = self.session.claim(self.workers[queue] or str(uuid.uuid4()), queue, 5)
        if rows[0]["outcome"] == "fenced":
            self.workers.pop(queue)
        return self.workers.get(queue), [row for row in rows if row["outcome"] == "started"]

    def start(self):
        self.session.run("select pgflow.start_flows(%s, array_fill('{}'::jsonb, array[3]))", self.flow())

    def finish(self):
        worker, claims = self.started()
        if claims:
            self.session.finish(worker, claims, self.random.choices(["completed", "failed", "permanent"], k=len(claims)))

    def release(self):
        worker, claims = self.started()
        if claims:
            self.session.run(
                "select * from pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array_fill(true, array[%s]), 0)",
                worker, *keys(claims), len(claims))

    def cancel(self):
        for run, in self.session.run("select run_id from pgflow.runs where status = 'started' order by random() limit 1"):
            self.session.run("select pgflow.cancel_run(%s, 'enough')", run)

    def recover(self):
        self.session.run(
            "update pgflow.step_tasks t set recover_at = clock_timestamp() from (select run_id, step_slug, task_index"
            " from pgflow.step_tasks where status = 'started' for update skip locked) o"
            " where (t.run_id, t.step_slug, t.task_index) = (o.run_id, o.step_slug, o.task_index)")
        self.session.run("select pgflow.requeue_stalled_tasks()")

    def maintain(self):
        self.session.run("select pgflow.maintain()")

    def compile_step_queues(self):
        deploy_doomed(self.session)

    def compile_shared(self):
        deploy_shared(self.session)

    def create(self):
        self.session.run("select pgflow.create_flow('plain')")
        self.session.run("select pgflow.add_step('plain', 'a')")

    def delete(self):
        self.session.run("select pgflow.delete_flow_and_data(%s)", self.random.choice(["doomed", self.flow()]))

    def prune(self):
        self.session.run("select pgflow.prune_data_older_than('0 seconds', 5)")

    def retire(self):
        self.session.run("select pgflow.retire_flow('routed_v1')")
        self.session.run("select pgflow.unretire_flow('routed_v1')")

    def purge(self):
        self.session.run("select pgmq.purge_queue(%s)", self.queue())

    def take_by_hand(self):
        self.session.run(f'delete from pgmq."q_{self.queue()}" where random() < 0.3')

    def drop(self):
        queue = self.queue()
        self.session.run("select pgmq.drop_queue(%s)", queue)
        self.make_again(queue)

    def make_anew(self):
        """In one transaction, as psql -1 would."""
        queue = self.queue()
        self.session.run("select pgmq.drop_queue(%s); select pgmq.create(%s) from pgflow.queues where queue_name = %s",
                         queue, queue, queue)

    def make_again(self, queue):
        self.session.run("select pgmq.create(queue_name) from pgflow.queues where queue_name = %s", queue)

    def look(self):
        self.session.run("select * from pgflow.lost_tasks()")
        self.session.run("select * from pgflow.queue_coverage('shared_q')")
        self.session.run("select * from pgflow.drain_status('doomed')")


METHODS = [Caller.start, Caller.finish, Caller.release, Caller.cancel, Caller.recover, Caller.maintain,
           Caller.compile_step_queues, Caller.compile_shared, Caller.create, Caller.delete, Caller.prune, Caller.retire,
           Caller.purge, Caller.take_by_hand, Caller.drop, Caller.make_anew, Caller.look]


def prepare(sql):
    """Every flow is there, every queue of theirs, and work on them."""
    sql.run("select pgmq.create(q.queue_name) from pgflow.queues q"
            " where not exists (select from pgmq.meta m where m.queue_name = q.queue_name)")
    deploy_doomed(sql)
    deploy_shared(sql)
    sql.run("select pgflow.create_flow('plain')")
    sql.run("select pgflow.add_step('plain', 'a') where not exists (select from pgflow.steps where flow_slug = 'plain')")
    sql.run("select pgflow.maintain()")
    for flow in ("doomed", "plain", "routed_v1"):
        sql.run("select pgflow.start_flows(%s, array_fill('{}'::jsonb, array[4]))", flow)


def test_a_deletion_drops_queues_in_the_order_in_which_maintenance_reads_them(database, sql):
    deploy_doomed(sql)
    for queue in reversed(PRIVATE):  # so that PGMQ lists them the other way round
        sql.run("select pgmq.drop_queue(%s)", queue)
        sql.run("select pgmq.create(%s)", queue)
    between, maintaining, deleting = database.session(), database.session(), database.session()
    between.run(f'begin; lock table pgmq."q_{PRIVATE[1]}" in access exclusive mode')

    round = Background(lambda: maintaining.run("select pgflow.maintain()"))
    database.wait_until_blocked(maintaining.pid())
    deletion = Background(lambda: deleting.run("select pgflow.delete_flow_and_data('doomed')"))
    database.wait_until_blocked(deleting.pid())
    between.run("rollback")

    round.result()
    deletion.result()
    assert sql.run("select queue_name from pgmq.meta") == []


@pytest.mark.parametrize("first", METHODS, ids=lambda method: method.__name__)
def test_a_call_and_any_other_at_once(database, sql, first):
    callers = [Caller(database.session(), seed) for seed in range(2)]
    errors = []

    def call(caller, method):
        for _ in range(CALLS):
            try:
                method(caller)
            except psycopg2.Error as error:
                if error.pgcode not in EXPECTED:
                    errors.append(f"{first.__name__} and {second.__name__}, {method.__name__}: {error.pgcode} {error}")

    for second in METHODS[METHODS.index(first):]:
        prepare(sql)
        threads = [threading.Thread(target=call, args=pair) for pair in zip(callers, (first, second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        prepare(sql)
        assert not errors, errors[0]
        assert sql.run("select * from pgflow.lost_tasks()") == [], f"after {first.__name__} and {second.__name__}"
