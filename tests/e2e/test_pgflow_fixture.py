"""The databases of pgflow that tests adopt: their catalogue is that of a real installation, and old workers run on them."""

import pytest

from lib import pgflow
from lib.ts_worker import TsWorker

CHAIN = {"steps": [{"slug": "list", "stepType": "single", "dependencies": []},
                   {"slug": "each", "stepType": "map", "dependencies": ["list"]},
                   {"slug": "sum", "stepType": "single", "dependencies": ["each"]}]}


@pytest.fixture(params=pgflow.RELEASES)
def old(request):
    with pgflow.pgflow_database(request.param) as database:
        database.release = request.param
        yield database


def handler(step, given, _):
    return {"list": [1, 2, 3], "each": given, "sum": sum(given["each"]) if step == "sum" else None}[step]


def end_runs(database):
    database.until("select count(*) = 0 from pgflow.runs where status = 'started'")


def test_the_catalogue_is_that_of_the_release(old):
    made, real = pgflow.catalogue(old), pgflow.expected(old.release)
    assert sorted(real - made) == [] and sorted(made - real) == []


def test_a_worker_of_the_release_runs_a_flow_to_its_end(old):
    worker = TsWorker(old.url, old.release, "Sums", CHAIN, handler=handler)
    worker.began.wait(30)
    for _ in range(5):
        old.start_flow("Sums", {"n": 1})
    end_runs(old)
    worker.stop()

    assert worker.completed == 25
    assert {output["sum"] for output, in old.rows("select output from pgflow.runs where status = 'completed'")} == {6}
    assert old.value("select count(*) from pgmq.q_sums") == 0


def test_a_failing_task_is_retried_and_then_ends_its_run_with_what_the_release_leaves(old):
    def fails(step, given, _):
        if step == "each" and given == 1:
            raise ValueError("no")
        return handler(step, given, _)

    calls = []
    worker = TsWorker(old.url, old.release, "sums", CHAIN, handler=lambda *a: calls.append(a[0]) or fails(*a))
    worker.began.wait(30)
    old.rows("update pgflow.flows set opt_base_delay = 0, opt_max_attempts = 2")
    old.start_flow("sums")
    end_runs(old)
    worker.stop()

    assert old.value("select status from pgflow.runs") == "failed"
    attempts, status = old.row("select attempts_count, status from pgflow.step_tasks where step_slug = 'each' and task_index = 0")
    assert (attempts, status) == (2, "failed")
    assert old.value("select count(*) from pgmq.q_sums") == 0


def test_orphans_stay_in_0_14_1_and_the_next_release_repairs_them():
    with pgflow.pgflow_database("0.14.1") as old:
        old.rows("select pgflow.create_flow('many', max_attempts => 1)")
        old.rows("select pgflow.add_step('many', 'each', step_type => 'map')")
        run = old.start_flow("many", [1, 2, 3])
        worker = "0f0e0d0c-0000-4000-8000-000000000001"
        old.rows("insert into pgflow.workers (worker_id, queue_name, function_name) values (%s, 'many', 'w')", worker)
        ids = [row.msg_id for row in old.rows("select msg_id from pgmq.read('many', 30, 2) order by 1")]
        started = old.rows("select * from pgflow.start_tasks('many', %s::bigint[], %s)", ids, worker)
        assert [(row.task_index, row.input) for row in started] == [(0, 1), (1, 2)]
        old.rows("select pgflow.fail_task(%s, 'each', 0, 'no')", run)

        assert old.rows("select status from pgflow.step_tasks order by task_index") == [("failed",), ("started",), ("queued",)]
        assert old.value("select count(*) from pgmq.q_many") == 0
        pgflow.upgrade(old, "0.16.0")
        assert old.rows("select status from pgflow.step_tasks order by task_index") == [("failed",), ("cancelled",), ("cancelled",)]


def test_a_stalled_task_is_requeued_three_times_then_archived_and_left_started(old):
    old.rows("select pgflow.create_flow('slow')")
    old.rows("select pgflow.add_step('slow', 'only')")
    run = old.start_flow("slow")
    worker = "0f0e0d0c-0000-4000-8000-000000000001"
    old.rows("insert into pgflow.workers (worker_id, queue_name, function_name) values (%s, 'slow', 'w')", worker)
    for requeued in range(4):
        message = old.value("select msg_id from pgmq.read('slow', 5, 1)")
        arguments = (["slow", [message], worker] + (["slow"] if old.release == "0.17.1" else []))
        old.rows(f"select * from pgflow.start_tasks(%s, %s::bigint[], %s{', %s' if old.release == '0.17.1' else ''})", *arguments)
        left = old.value("select extract(epoch from vt - clock_timestamp())::integer from pgmq.q_slow")
        assert 55 < left <= 62
        assert old.task(run, "only").attempts_count == requeued + 1
        old.rows("update pgflow.step_tasks set queued_at = queued_at - interval '2 minutes', started_at = started_at - interval '2 minutes'")
        assert old.value("select pgflow.requeue_stalled_tasks()") == (1 if requeued < 3 else 0)
        task = old.task(run, "only")
        assert (task.status, task.started_at is None) == (("queued", True) if requeued < 3 else ("started", False))
    assert task.permanently_stalled_at is not None and task.requeued_count == 3
    assert old.value("select count(*) from pgmq.q_slow") == 0


def test_whoever_may_not_write_the_tables_may_not_work_through_the_functions(old):
    """PUBLIC may call everything; the caller's rights decide, but in the six functions that run as their owner."""
    old.rows("drop role if exists nobody_special")
    old.rows("create role nobody_special")
    old.rows("grant usage on schema pgflow to nobody_special")
    old.rows("select pgflow.create_flow('kept')")
    old.rows("set role nobody_special")
    with pytest.raises(Exception, match="permission denied"):
        old.rows("select pgflow.delete_flow_and_data('kept')")
    old.rows("reset role")
    definers = {name for name, in old.rows("select proname from pg_proc where pronamespace = 'pgflow'::regnamespace and prosecdef")}
    assert definers == {"cleanup_ensure_workers_logs", "get_run_with_states", "requeue_stalled_tasks", "setup_ensure_workers_cron",
                        "setup_requeue_stalled_tasks_cron", "start_flow_with_states"}
    old.rows("drop owned by nobody_special")
    old.rows("drop role nobody_special")


def test_seeded_rows_have_every_status_and_what_is_in_flight_is_worked_off(old):
    pgflow.seed(old, 400, in_flight=40, stalled=3, orphans=7)
    assert pgflow.catalogue(old) == pgflow.expected(old.release)

    statuses = {status for status, in old.rows("select distinct status from pgflow.step_tasks")}
    assert statuses == {"queued", "started", "completed", "failed"} | (set() if old.release == "0.14.1" else {"cancelled"})
    assert {s for s, in old.rows("select distinct status from pgflow.step_states")} == {"created", "started", "completed", "failed", "skipped"}
    assert old.value("select count(*) from pgflow.runs where status = 'started'") == 43
    assert old.value("select count(*) from pgflow.step_tasks t join pgflow.runs r using (run_id)"
                     " where t.status = 'started' and r.status <> 'started'") == (7 if old.release == "0.14.1" else 0)
    # Every foreign key, asked again.
    for table, name in old.rows("select conrelid::regclass::text, conname from pg_constraint"
                                " where contype = 'f' and connamespace = 'pgflow'::regnamespace"):
        definition = old.value("select pg_get_constraintdef(oid) from pg_constraint where conrelid = %s::regclass and conname = %s", table, name)
        old.rows(f"alter table {table} drop constraint {name}")
        old.rows(f"alter table {table} add constraint {name} {definition}")

    old.rows("update pgflow.step_tasks set queued_at = queued_at - interval '3 minutes', started_at = started_at - interval '3 minutes'"
             " where status = 'started' and permanently_stalled_at is null")
    requeued = old.value("select pgflow.requeue_stalled_tasks()")
    # 0.14.1 goes by the task alone and wakes orphans too; they have no message, and no worker ever sees them.
    assert requeued == 30 + (7 if old.release == "0.14.1" else 0)
    worker = TsWorker(old.url, old.release, "Seed", {"steps": [
        {"slug": "a", "stepType": "single", "dependencies": []}, {"slug": "b", "stepType": "map", "dependencies": ["a"]}]},
        handler=lambda step, given, _: [1, 2] if step == "a" else given)
    old.until("select count(*) = 3 from pgflow.runs where status = 'started'")
    worker.stop()
    assert old.value("select count(*) from pgflow.runs where status = 'completed' and output not in ('{\"b\": [1, 2]}', '{}')") == 0
    assert old.value("select count(*) from pgmq.q_seed") == 0
    assert old.value("select count(*) from pgmq.\"q_site_own\"") == 1
