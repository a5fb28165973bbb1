"""Flows that nobody thought of: every run ends, and ends as its definition says. The seeds are fixed."""
import random
import threading

import psycopg2
import pytest

from random_flows import Host, deploy_random_flows, problems_of_runs

# Answers to a call that a neighbour's deletion or retirement has overtaken.
OVERTAKEN = {"42704", "42P01", "55000"}


def work_off(sql, hosts):
    """Until nothing is visible any more and nothing is left to recover."""
    for _ in range(100):
        sql.run("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
        sql.run("select pgflow.requeue_stalled_tasks()")
        for queue in hosts[0].workers:
            sql.run(f'update pgmq."q_{queue}" set vt = clock_timestamp()')
        if sum(host.work() for host in hosts) == 0:
            return


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_run_of_a_random_flow_ends_as_its_definition_says(database, sql, seed):
    flows = deploy_random_flows(sql, seed)
    host = Host(database.session(), random.Random(seed), flows)

    for _ in range(60):
        host.start()
    work_off(sql, [host])

    assert sql.one("select count(*) from pgflow.runs where status = 'started'") == 0
    assert problems_of_runs(sql, flows) == []
    assert database.violations() == []


class Meddler:
    """Cancels, recovers, deletes, compiles anew, retires; whatever comes first to mind."""

    def __init__(self, session, rng, flows):
        self.session, self.rng, self.flows, self.errors = session, rng, flows, []

    def meddle(self, done):
        while not done.is_set():
            try:
                self.rng.choice([self.cancel, self.recover, self.recover, self.delete, self.compile, self.retire])()
            except psycopg2.Error as error:
                if error.pgcode not in OVERTAKEN:
                    self.errors.append(str(error))

    def any_flow(self):
        return self.rng.choice(list(self.flows.values()))

    def cancel(self):
        self.session.run(
            "select pgflow.cancel_run(r.run_id)"
            " from (select run_id from pgflow.runs where status = 'started' order by random() limit 1) r")

    def recover(self):
        self.session.run(
            "update pgflow.step_tasks t set recover_at = clock_timestamp() from (select run_id, step_slug, task_index"
            " from pgflow.step_tasks where status = 'started' and random() < 0.3 for update skip locked) o"
            " where (t.run_id, t.step_slug, t.task_index) = (o.run_id, o.step_slug, o.task_index)")
        self.session.run("select pgflow.requeue_stalled_tasks()")

    def delete(self):
        self.session.run("select pgflow.delete_flow_and_data(%s)", self.any_flow().slug)

    def compile(self):
        self.session.run("select pgflow.ensure_deployment(%s)", self.any_flow().deployment)

    def retire(self):
        flow = self.any_flow().slug
        self.session.run("select pgflow.retire_flow(%s)", flow)
        self.session.run("select pgflow.unretire_flow(%s)", flow)


def play(host, rounds, errors):
    for _ in range(rounds):
        for move in (host.start, host.start, host.start, host.work):
            try:
                move()
            except psycopg2.Error as error:
                if error.pgcode not in OVERTAKEN:
                    errors.append(str(error))


def test_random_flows_that_are_cancelled_recovered_and_deleted_meanwhile_end_soundly(database, sql):
    flows = deploy_random_flows(sql, 7)
    hosts = [Host(database.session(), random.Random(seed), flows) for seed in range(5)]
    meddlers = [Meddler(database.session(), random.Random(seed), flows) for seed in range(3)]
    done, errors = threading.Event(), []

    playing = [threading.Thread(target=play, args=(host, 25, errors)) for host in hosts]
    meddling = [threading.Thread(target=meddler.meddle, args=(done,)) for meddler in meddlers]
    for thread in playing + meddling:
        thread.start()
    for thread in playing:
        thread.join()
    done.set()
    for thread in meddling:
        thread.join()

    assert errors + [error for meddler in meddlers for error in meddler.errors] == []
    assert database.violations() == []
    for flow in flows.values():
        sql.run("select pgflow.ensure_deployment(%s)", flow.deployment)
        sql.run("select pgflow.unretire_flow(%s)", flow.slug)

    work_off(sql, hosts[:1])

    assert sql.one("select count(*) from pgflow.runs where status = 'started'") == 0
    assert problems_of_runs(sql, flows) == []
    assert database.violations() == []
