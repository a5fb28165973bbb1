"""Workers and clients of pgflow 0.14 to 0.17.1 as they are, on our schema: alone, and beside a host on one queue."""

import json
import re

import psycopg2
import pytest

from lib.paths import SOURCE
from lib.programs import run_ctl
from lib.ts_worker import RELEASES, TsWorker

CHAIN = {"steps": [{"slug": "first", "stepType": "single", "dependencies": []},
                   {"slug": "second", "stepType": "single", "dependencies": ["first"]},
                   {"slug": "third", "stepType": "single", "dependencies": ["second"]}]}


@pytest.fixture
def workers(database):
    started = []

    def start(*arguments, **options):
        worker = TsWorker(database.url, *arguments, **options)
        started.append(worker)
        worker.began.wait(30)
        if worker.error:
            raise worker.error
        return worker

    yield start
    for worker in started:
        if worker.is_alive():
            worker.stop()


def ctl(database, *arguments):
    return json.loads(run_ctl(*arguments, "--json", env={"PGFLOW_DATABASE": database.url}).stdout)


def wait_all(database):
    database.until("select count(*) = 0 from pgflow.runs where status = 'started'")
    assert database.value("select count(*) from pgflow.runs where status <> 'completed'") == 0


@pytest.mark.parametrize("release", RELEASES)
def test_a_worker_of_each_release_compiles_its_flow_and_runs_it(database, workers, release):
    worker = workers(release, "mail", CHAIN)
    run, = database.row("select run_id from pgflow.start_flow(flow_slug => %s::text, input => %s::jsonb)", "mail", '{"n": 1}')

    database.wait_run(run)
    worker.stop()

    assert worker.completed == 3
    assert database.value("select pgflow_version from pgflow.workers") == (release if release == "0.17.1" else None)
    assert database.value("select stopped_at is not null from pgflow.workers")
    whole = database.value("select pgflow.get_run_with_states(run_id => %s)", run)
    assert whole["run"]["status"] == "completed" and len(whole["steps"]) == 3
    database.audit()


def test_a_worker_of_a_step_queue_serves_its_step_alone(database, workers):
    steps = [workers("0.17.1", "mail", CHAIN, queue_mode="step", step=step) for step in ("first", "second", "third")]
    for n in range(5):
        database.start_flow("mail", {"n": n})

    wait_all(database)

    assert [worker.completed for worker in steps] == [5, 5, 5]
    database.audit()


def test_a_failing_handler_of_a_client_is_retried_and_fails_the_run(database, workers):
    def fail(*_):
        raise ValueError("no such mailbox")

    workers("0.16.0", "mail", {"options": {"maxAttempts": 2, "baseDelay": 0}, **CHAIN}, handler=fail)
    run = database.start_flow("mail")

    database.wait_run(run, status="failed")

    assert database.task(run, "first").attempts_count == 2
    assert database.task(run, "first").error_message == "no such mailbox"


@pytest.mark.parametrize("release", RELEASES)
def test_a_worker_and_a_host_share_one_queue_and_nothing_runs_twice(database, hosts, workers, tmp_path, release):
    ran = tmp_path / "ran"
    hosts.start("--concurrency", "2", queue="chain", plugins=["chain"])
    worker = workers(release, "chain", CHAIN)
    for n in range(40):
        database.start_flow("chain", {"n": n, "ms": 5, "file": str(ran)})

    wait_all(database)
    worker.stop()

    by_host = len(ran.read_text().splitlines())
    assert worker.completed > 0 and by_host > 0
    assert worker.completed + by_host == 120 == database.value("select count(*) from pgflow.step_tasks where attempts_count = 1")
    database.audit()


def test_what_a_worker_of_pgflow_serves_is_counted(database, hosts, workers):
    """It registers no pairs; its queue tells."""
    worker = workers("0.17.1", "chain", CHAIN)
    database.start_flow("chain")

    coverage = ctl(database, "coverage", "chain")
    shown, = ctl(database, "workers", "--queue", "chain")
    drain = ctl(database, "drain", "chain")
    problems = [finding for finding in ctl(database, "doctor") if finding["check"] == "work" and finding["level"] != "ok"]

    assert {(row["step"], row["workers"]) for row in coverage} == {("first", 1), ("second", 1), ("third", 1)}
    assert shown["state"] == "working" and shown["pgflow_version"] == "0.17.1"
    assert [pair["step"] for pair in shown["pairs"]] == ["first", "second", "third"]
    assert [hosting["workerId"] for hosting in drain["live_workers"]] == [worker.id]
    assert problems == []
    host = hosts.start(queue="chain", plugins=["chain"])
    assert host.running()


def test_a_flow_that_a_host_routes_to_a_shared_queue_is_no_flow_of_such_a_worker(database, hosts, workers):
    hosts.start(queue="routed_main", plugins=["routed_v1"], wait=False)
    database.until("select count(*) > 0 from pgflow.flows where flow_slug = 'routed_v1'")
    shape = {"steps": [{"slug": s, "stepType": t, "dependencies": d} for s, t, d in database.rows(
        "select s.step_slug, s.step_type, array(select dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug)"
        " from pgflow.steps s where s.flow_slug = 'routed_v1' order by s.step_index")]}

    with pytest.raises(AssertionError, match="'mismatchKind': 'routing'"):
        workers("0.17.1", "routed_v1", shape)


def test_a_client_reads_flows_and_steps_as_rows(database, workers):
    workers("0.17.1", "mail", CHAIN).stop()

    flow = database.row("select * from pgflow.flows where flow_slug = 'mail'")
    steps = database.rows("select * from pgflow.steps where flow_slug = 'mail' order by step_index")

    assert flow.queue_mode == "flow" and [step.step_slug for step in steps] == ["first", "second", "third"]
    with pytest.raises(psycopg2.errors.InvalidParameterValue):
        database.rows("select pgflow.delete_flow_and_data()")
    database.rows("select pgflow.delete_flow_and_data(p_flow_slug => 'mail')")
    assert database.value("select count(*) from pgflow.flows") == 0


def test_the_hook_of_the_page_sends_events_elsewhere(database, workers):
    page = (SOURCE / "docs/operations/pgflow-clients.md").read_text()
    database.rows(re.search(r"```sql\n(.*?)```", page, re.S)[1])
    listener = psycopg2.connect(database.url)
    listener.autocommit = True
    listener.cursor().execute("listen pgflow_events")
    workers("0.17.1", "mail", CHAIN)
    run = database.start_flow("mail")
    database.wait_run(run)

    listener.poll()
    heard = [json.loads(notification.payload) for notification in listener.notifies]
    listener.close()

    assert {event["topic"] for event in heard} == {f"pgflow:run:{run}"}
    assert [event["event"] for event in heard][:2] == ["run:started", "step:first:started"]
    assert heard[-1]["event"] == "run:completed"
