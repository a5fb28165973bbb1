"""Queues of their own and queues that are shared: what one worker, flow or message does to the others."""

import json
import signal
import threading
import uuid

import psycopg2

from lib.fleet import Fleet, active, assert_ran_once, assert_wholly_one_version, ctl, flows_of, function, more
from lib.paths import module
from lib.programs import run_host
from lib.rollout import Load, entry, manifest, operator, wait_all

MAIN, MAIL = "routed_main", "routed_mail"
LEFT, MIDDLE, RIGHT = SPREAD = "spread_left", "spread_middle", "spread_right"
OLD_QUEUES = "staged_v1__first", "staged_v1__second"
NEW_QUEUES = "staged_v2__first", "staged_v2__second", "staged_v2__third"


def messages(database, queues=SPREAD):
    """How many messages are on each of the queues."""
    return [database.value("select queue_length from pgmq.metrics(%s)", queue) for queue in queues]


def live_tasks(database):
    return database.value("select count(*) from pgflow.step_tasks where status in ('queued', 'started')")


def test_new_version_waits_for_the_worker_of_its_last_queue_while_the_old_one_serves(database, hosts, tmp_path):
    guide, ran = operator(database), tmp_path / "ran"
    Fleet(hosts, OLD_QUEUES).start(["staged_v1"])
    load = Load(database, "staged", {"file": str(ran)})
    guide.load(manifest(
        "B", *(entry(function(queue), "keep-draining", True, flow="staged_v1") for queue in OLD_QUEUES),
        *(entry(function(queue), "add", True, queue=queue) for queue in NEW_QUEUES)))
    guide.run("fence")
    new = Fleet(hosts, NEW_QUEUES[:2])
    new.start(["staged_v2"], event="standby")
    assert guide.now() == (
        "deploy", f'function "{function(NEW_QUEUES[2])}" has no live worker that stands by with the modules of the manifest')
    assert "has no live worker that stands by" in guide.waits("apply")
    guide.sql("select pgflow.apply_deployment('B', without_hosts => true)")
    new.wait("activation_waits")

    declined = ctl(database, "activate", "staged", "staged_v2")
    more(load)
    before = list(load.runs)
    Fleet(hosts, NEW_QUEUES[2:]).start(["staged_v2"])
    more(load)
    untouched = active(database, "staged")
    made = ctl(database, "activate", "staged", "staged_v2")
    more(load, 2)
    switched = len(load.runs)
    more(load)
    load.stop()

    assert declined.returncode == 1 and NEW_QUEUES[2] in declined.stderr, declined.stderr
    assert (untouched, made.returncode) == ("staged_v1", 0), made.stderr
    assert load.refusals == []
    wait_all(database, load.runs)
    assert flows_of(database, before) == {"staged_v1"}
    assert flows_of(database, load.runs[switched:]) == {"staged_v2"}
    assert_ran_once(database, ran)
    assert_wholly_one_version(database)


def test_plain_flow_gives_way_to_a_new_slug_although_it_is_its_own_alias(database, hosts):
    old = hosts.start(plugins=["noop"])
    before = database.start_flow("noop")
    hosts.start(plugins=["noop_again"])
    after = database.start_flow("noop_again")
    wait_all(database, [before, after])

    drained = ctl(database, "drain", "noop")
    retired = ctl(database, "retire", "noop")
    late = ctl(database, "start", "noop")

    assert (drained.returncode, retired.returncode) == (0, 0), drained.stdout + retired.stderr
    assert late.returncode != 0 and 'flow "noop" is retired' in late.stderr, late.stderr
    assert active(database, "noop") == "noop"
    old.stop()
    database.wait_run(database.start_flow("noop_again"))


class OldClient:
    """A worker of the older kind: reads messages, starts their tasks, completes them without a fence."""

    def __init__(self, database, flow, *queue):
        self._work = database.url, flow, queue
        self.id = str(uuid.uuid4())
        self.completed = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        url, flow, queue = self._work
        connection = psycopg2.connect(url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            while not self._stopped.is_set():
                cursor.execute("select msg_id from pgmq.read_with_poll(%s, 2, 2, 1, 50)", (flow,))
                read = [row[0] for row in cursor.fetchall()]
                named = [flow, read, self.id, *queue]
                cursor.execute(
                    f"select run_id, step_slug, task_index from pgflow.start_tasks({', '.join(['%s'] * len(named))})",
                    named)
                for task in cursor.fetchall():
                    cursor.execute("select pgflow.complete_task(%s, %s, %s, '{\"by\": \"client\"}')", task)
                    self.completed += cursor.rowcount
        connection.close()

    def stop(self):
        self._stopped.set()
        self._thread.join()


def test_older_clients_work_on_the_same_queue_beside_a_host(database, hosts, tmp_path):
    ran = tmp_path / "ran"
    hosts.start("--concurrency", "2", queue="chain", plugins=["chain"])
    for queue in ([], ["chain"]):
        client = OldClient(database, "chain", *queue)
        runs = [database.start_flow("chain", {"ms": 20, "file": str(ran)}) for _ in range(10)]
        wait_all(database, runs)
        client.stop()

        by_client = database.value(
            "select count(*) from pgflow.step_tasks where last_worker_id = %s and output ->> 'by' = 'client'", client.id)
        assert by_client == client.completed > 0

    by_host = ran.read_text().splitlines()
    assert 0 < len(by_host) == database.value("select count(*) from pgflow.step_tasks where output ->> 'by' is null")
    assert database.value("select count(*) from pgflow.step_tasks where attempts_count = 1") == 60
    database.audit()


def test_unfenced_completion_changes_nothing_of_a_task_that_a_host_runs(database, hosts):
    hosts.start(queue="chain", plugins=["chain"])
    run = database.start_flow("chain", {"ms": 300})
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and status = 'started'", run)

    database.rows("select pgflow.complete_task(%s, 'first', 0, '\"stolen\"')", run)
    database.rows("select pgflow.fail_task(%s, 'first', 0, 'stolen')", run)

    database.wait_run(run)
    assert database.task(run, "first").output["step"] == "first"
    assert database.task(run, "first").attempts_count == 1


def test_recovery_leaves_tasks_of_a_host_with_other_modules_alone(database, hosts):
    hosts.start("--activate", "manual", queue=MAIL, plugins=["routed_v1", "routed_v2"])
    doomed = hosts.start("--function", "wide", "--activate", "manual", queue=MAIN, plugins=["routed_v1", "routed_v2"])
    narrow = hosts.start("--function", "narrow", queue=MAIN, plugins=["routed_v1"])
    narrow.signal(signal.SIGSTOP)
    lost = database.start_flow("routed_v2", {"ms": 600})
    database.until("select count(*) = 1 from pgflow.step_tasks where status = 'started'")
    doomed.kill()
    wide = hosts.start("--function", "wide", "--activate", "manual", queue=MAIN, plugins=["routed_v1", "routed_v2"])
    held = database.start_flow("routed_v2", {"ms": 600})
    database.until("select count(*) = 2 from pgflow.step_tasks where status = 'started'")
    wide.signal(signal.SIGSTOP)

    # What any host does, once the clock has brought the deadline of the lost task alone.
    database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where run_id = %s", lost)
    # It answers 0 while another session is at it.
    database.until(
        "select pgflow.maintain() >= 0 and requeued_count = 1"
        " from pgflow.step_tasks where run_id = %s and step_slug = 'prepare'",
        lost,
    )
    before = database.rows("select * from pgflow.step_tasks order by run_id, step_slug")
    narrow.signal(signal.SIGCONT)
    assert narrow.wait() == 78
    assert database.rows("select * from pgflow.step_tasks order by run_id, step_slug") == before
    wide.signal(signal.SIGCONT)

    wait_all(database, [lost, held])
    assert database.task(lost, "prepare").requeued_count == 1
    assert database.rows(
        "select from pgflow.step_tasks where run_id = %s and (attempts_count, claim_no, requeued_count) <> (1, 1, 0)", held) == []
    assert database.rows("select function_name from pgflow.worker_functions where not enabled") == [("narrow",)]
    assert_wholly_one_version(database)


def test_claims_on_one_queue_leave_the_same_message_ids_of_another_alone(database, hosts):
    hosts.start(plugins=["noop_again"]).stop()
    waiting = [database.start_flow("noop_again") for _ in range(3)]
    before = database.rows("select * from pgmq.q_noop_again"), database.rows("select * from pgflow.step_tasks")

    hosts.start(plugins=["noop"])
    runs = [database.start_flow("noop") for _ in range(3)]
    wait_all(database, runs)

    assert database.rows("select msg_id from pgmq.a_noop") == database.rows("select msg_id from pgmq.q_noop_again")
    assert database.rows("select * from pgmq.q_noop_again") == before[0]
    assert database.rows("select * from pgflow.step_tasks where flow_slug = 'noop_again'") == before[1]
    hosts.start(plugins=["noop_again"])
    wait_all(database, waiting)


def test_skips_clear_what_waits_on_all_three_queues_of_a_run(database, hosts):
    for queue in SPREAD:
        hosts.start("--concurrency", "1", queue=queue, plugins=["spread"])

    run = database.start_flow("spread", [{"fail": "maps"}] + [{"ms": 50}] * 30)

    database.wait_run(run)
    skipped = database.rows(
        "select step_slug from pgflow.step_tasks where run_id = %s and status = 'skipped' group by 1 order by 1", run)
    assert skipped == [("left",), ("middle",), ("right",)]
    assert live_tasks(database) == 0
    assert messages(database) == [0, 0, 0]
    database.audit()


def test_failure_clears_what_waits_on_all_three_queues_of_a_run(database, hosts):
    hosts.start(queue=LEFT, plugins=["spread"])

    run = database.start_flow("spread", [{"fail": "judge"}] + [{"ms": 20}] * 30)

    database.wait_run(run, status="failed")
    assert live_tasks(database) == 0
    assert messages(database) == [0, 0, 0]
    database.audit()


def test_cancelling_clears_what_waits_and_runs_on_all_three_queues(database, hosts):
    hosts.start("--concurrency", "1", queue=LEFT, plugins=["spread"])
    run = database.start_flow("spread", [{"ms": 300}] * 10)
    database.until("select count(*) > 0 from pgflow.step_tasks where status = 'started'")

    cancelled = ctl(database, "cancel", run)

    assert cancelled.returncode == 0, cancelled.stderr
    assert live_tasks(database) == 0
    assert messages(database) == [0, 0, 0]
    for queue in (MIDDLE, RIGHT):
        hosts.start(queue=queue, plugins=["spread"])
    database.wait_run(database.start_flow("spread", [{}]))
    database.audit()


def test_deleting_a_flow_clears_its_three_queues_and_leaves_its_neighbour_there_untouched(database, hosts):
    left = hosts.start(queue=LEFT, plugins=["spread", "spread_beside"])
    left.signal(signal.SIGSTOP)
    # A claim that the host had sent is answered before there is work.
    database.until("select not exists (select from pg_stat_activity where datname = current_database()"
                   " and state = 'active' and pid <> pg_backend_pid())")
    database.start_flow("spread", [{}] * 4)
    neighbour = database.start_flow("spread_beside", [{}] * 4)
    before = database.rows("select * from pgflow.step_tasks where run_id = %s order by step_slug, task_index", neighbour)

    deleted = ctl(database, "delete", "spread", "--yes", "--force")

    assert deleted.returncode == 0, deleted.stderr
    assert messages(database) == [5, 4, 4]
    after = database.rows("select * from pgflow.step_tasks order by step_slug, task_index")
    assert after == before
    left.signal(signal.SIGCONT)
    for queue in (MIDDLE, RIGHT):
        hosts.start(queue=queue, plugins=["spread_beside"])
    database.wait_run(neighbour)
    left.stop()
    database.audit()


def test_queue_that_was_dropped_ends_a_host_and_is_named_at_the_next_start(database, hosts, tmp_path):
    running = hosts.start(plugins=["chain"])
    database.rows("select pgmq.drop_queue('chain')")

    assert running.wait() == 78
    again = run_host(
        "--plugin", module("chain"), "--module-dir", tmp_path / "copies", "--log-format", "json",
        env={"PGFLOW_DATABASE": database.url})

    assert "chain" in running.said() and "dropped" in running.said()
    assert again.returncode == 78, again.stderr
    told = json.loads(again.stderr.splitlines()[-1])["msg"]
    assert 'queue "chain" is known to pgflow.queues, but PGMQ no longer lists it' in told
    assert "select pgmq.create('chain')" in told and "\nSomebody dropped it" in told


def test_spellings_of_a_queue_that_differ_by_case_are_one_queue(database, hosts):
    database.rows("select pgmq.create('Routed_Mail')")
    first = hosts.start(
        "--adopt-queue", "ROUTED_mail", "--function", "mail", queue="Routed_MAIL", plugins=["routed_v1"])
    for number, queue in enumerate(("Routed_Main", "ROUTED_MAIN")):
        hosts.start("--function", f"main {number}", queue=queue, plugins=["routed_v1"])

    runs = [database.start_flow("routed") for _ in range(5)]

    wait_all(database, runs)
    assert database.rows("select queue_name from pgflow.queues order by 1") == [(MAIL,), (MAIN,)]
    assert database.rows("select distinct lower(queue_name) from pgmq.list_queues() order by 1") == [(MAIL,), (MAIN,)]
    coverage = ctl(database, "coverage", "ROUTED_main")
    assert coverage.returncode == 0, coverage.stdout + coverage.stderr
    first.stop()
