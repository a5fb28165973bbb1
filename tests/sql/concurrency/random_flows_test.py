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


WORK_DONE_TWICE = """
    select r.run_id, o.step_slug, o.task_index
    from pgflow.run_restarts r
    join pgflow.step_tasks o on o.run_id = r.restart_of_run_id and o.status = 'completed'
    join pgflow.step_states was on was.run_id = o.run_id and was.step_slug = o.step_slug
    join pgflow.step_states now on now.run_id = r.run_id and now.step_slug = o.step_slug
    left join pgflow.step_tasks n on n.run_id = r.run_id and n.step_slug = o.step_slug and n.task_index = o.task_index
    where r.resumed and (was.status = 'completed' and (now.status <> 'completed' or now.output <> was.output)
                         or now.status <> 'skipped' and n.message_id is not null
                         or n.output <> o.output)"""


@pytest.mark.parametrize("seed", [11, 12, 13, 14])
def test_runs_that_are_resumed_end_as_their_definition_says_and_no_finished_work_runs_again(database, sql, seed):
    flows, rng = deploy_random_flows(sql, seed), random.Random(seed)
    host = Host(database.session(), rng, flows)
    for _ in range(60):
        host.start()
    refusals, restarted = set(), 0

    for _ in range(6):
        host.work()
        sql.run("select pgflow.cancel_run(r.run_id)"
                " from (select run_id from pgflow.runs where status = 'started' order by run_id limit 10) r")
        for new_run, refused in sql.run(
                "select a.new_run_id, a.refused from pgflow.resume_runs(array(select r.run_id from pgflow.runs r"
                " where r.status in ('failed', 'cancelled') and not exists"
                " (select from pgflow.run_restarts x where x.restart_of_run_id = r.run_id))) a"):
            restarted += new_run is not None
            refusals.update([refused.split(" of step")[0]] if refused else [])
        assert database.violations() == []
    work_off(sql, [host])

    assert restarted >= 25
    assert refusals <= {f"its input still does not meet the {kind}_input_pattern" for kind in ("required", "forbidden")}
    assert sql.one("select count(*) from pgflow.runs where status = 'started'") == 0
    assert problems_of_runs(sql, flows) == []
    assert sql.run(WORK_DONE_TWICE) == []


@pytest.mark.parametrize("seed", [21, 22])
def test_runs_that_are_retried_or_run_their_skipped_steps_again_end_as_their_definition_says(database, sql, seed):
    flows, rng = deploy_random_flows(sql, seed), random.Random(seed)
    host = Host(database.session(), rng, flows)
    for _ in range(60):
        host.start()

    for _ in range(4):
        host.work()
        sql.run("select a.* from pgflow.resume_runs(array(select run_id from pgflow.runs where status = 'failed'),"
                " rerun_skipped => true) a")
        sql.run("select a.* from pgflow.retry_runs(array(select run_id from pgflow.runs where status <> 'started'"
                " order by run_id limit 5), again => true) a")
        assert database.violations() == []
    work_off(sql, [host])

    assert sql.one("select count(*) from pgflow.run_restarts where resumed") > 10
    assert sql.one("select count(*) from pgflow.run_restarts where not resumed") > 10
    assert sql.one("select count(*) from pgflow.runs where status = 'started'") == 0
    assert problems_of_runs(sql, flows) == []


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
