"""Interleavings of claims with other sessions, each played once, step by step."""
import uuid

import psycopg2
import pytest
from conftest import Background, deploy, keys, register


def test_a_claim_waits_on_nothing_while_run_state_and_task_rows_are_locked(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[3]))")
    locker = database.session()
    locker.run("begin")
    locker.run("select from pgflow.runs order by run_id for update")
    locker.run("select from pgflow.step_states for update")
    locker.run("select from pgflow.step_tasks order by message_id limit 1 for update")

    claims = database.session(lock_timeout="1ms").claim(worker, "f")

    assert [c["outcome"] for c in claims] == ["busy", "started", "started"]
    assert claims[0]["reason"] == "locked"
    locker.run("rollback")


def test_a_message_whose_task_is_locked_elsewhere_keeps_the_visibility_of_the_read(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    locker = database.session()
    locker.run("begin")
    locker.run("select from pgflow.step_tasks for update")

    sql.claim(worker, "f")

    assert sql.run("select read_ct, vt between clock_timestamp() + '4 s' and clock_timestamp() + '5 s' from pgmq.q_f") == [(1, True)]
    assert sql.run("select status, claim_no from pgflow.step_tasks") == [("queued", 0)]


def test_a_task_committed_between_fence_and_read_is_never_foreign(database, sql):
    """The fence waits for the worker's row; meanwhile a start commits. Read, look-up and lock see it, each in its own statement."""
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    blocker, claimer = database.session(), database.session()
    blocker.run("begin")
    blocker.run("update pgflow.workers set info = '{}'")
    claim = Background(lambda: claimer.claim(worker, "f"))
    database.wait_until_blocked(claimer.pid())

    sql.run("select pgflow.start_flow('f', '{}')")
    blocker.run("commit")

    assert [c["outcome"] for c in claim.result()] == ["started", "started"]


def test_deprecation_waits_for_a_claim_in_flight_and_stops_the_next_one(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[2]))")
    claimer, operator = database.session(), database.session()
    claimer.run("begin")
    assert claimer.claim(worker, "f", 1)[0]["outcome"] == "started"
    deprecation = Background(lambda: operator.one("select pgflow.deprecate_workers('{fn}')"))
    database.wait_until_blocked(operator.pid())

    claimer.run("commit")

    assert deprecation.result() == 1
    assert claimer.claim(worker, "f")[0]["reason"] == "deprecated"
    assert database.violations() == []


def test_a_deprecation_reaches_the_row_of_a_host_that_registers_anew_meanwhile(database, sql):
    deploy(sql, "f", {"a": []})
    working = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.disable_worker_functions('{fn}')")
    standing_by = str(uuid.uuid4())
    host, operator = database.session(), database.session()
    host.run("begin")
    assert host.one("select pgflow.register_worker(%s, 'f', 'fn', '{}', standby => true, predecessor => %s)",
                    standing_by, working) == "registered"
    deprecation = Background(lambda: operator.one("select pgflow.deprecate_workers('{fn}')"))
    database.wait_until_blocked(operator.pid())

    host.run("commit")

    assert deprecation.result() == 1
    assert sql.run("select worker_id::text, stopped_at is not null, deprecated_at is not null from pgflow.workers"
                   " order by started_at") == [(working, True, False), (standing_by, False, True)]


def test_two_deprecations_and_a_registration_between_them_do_not_meet_in_opposite_order(database, sql):
    deploy(sql, "f", {"a": []})
    low, middle, high = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
    enroll = "select pgflow.register_worker(%s, 'f', 'fn', array[('f', 'a')::pgflow.task_pair])"
    for worker in (middle, high):
        assert sql.one(enroll, worker) == "registered"
    claimer, first, second = (database.session() for _ in range(3))
    claimer.run("begin")
    claimer.run("select from pgflow.workers where worker_id = %s for share", high)
    one = Background(lambda: first.one("select pgflow.deprecate_workers('{fn}')"))
    database.wait_until_blocked(first.pid())
    assert sql.one(enroll, low) == "registered"
    other = Background(lambda: second.one("select pgflow.deprecate_workers('{fn}')"))
    database.wait_until_blocked(second.pid())

    claimer.run("commit")

    assert (one.result(), other.result()) == (3, 0)
    assert sql.one("select bool_and(deprecated_at is not null) from pgflow.workers")


def test_a_claim_that_waited_for_a_deprecation_is_fenced(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    operator, claimer = database.session(), database.session()
    operator.run("begin")
    operator.run("select pgflow.deprecate_workers('{fn}')")
    claim = Background(lambda: claimer.claim(worker, "f"))
    database.wait_until_blocked(claimer.pid())

    operator.run("commit")

    assert [(c["outcome"], c["reason"]) for c in claim.result()] == [("fenced", "deprecated")]
    assert sql.run("select read_ct from pgmq.q_f") == [(0,)]


def test_a_disable_waits_for_a_registration_and_the_next_one_is_refused(database, sql):
    deploy(sql, "f", {"a": []})
    sql.run("select pgflow.track_worker_function('fn', 'process')")
    host, operator = database.session(), database.session()
    host.run("begin")
    assert register(host, "f", "fn", [("f", "a")])
    disable = Background(lambda: operator.run("select pgflow.disable_worker_functions('{fn}')"))
    database.wait_until_blocked(operator.pid())

    host.run("commit")

    disable.result()
    assert sql.one("select pgflow.deprecate_workers('{fn}')") == 1
    assert register(host, "f", "fn", [("f", "a")]) is None


def begin_rollout(sql):
    """A deployment that is fenced and about to give function fn to other modules."""
    deploy(sql, "f", {"a": []})
    sql.run("select pgflow.track_worker_function('fn', 'process')")
    sql.run("""select pgflow.load_manifest('{"deployment": "d", "entries": [{"functionName": "fn", "serves": {"queue": "f"},
            "action": "replace", "enabled": true, "startMode": "process", "modules": ["0e3f"]}]}'), pgflow.fence_manifest('d')""")


def test_a_registration_that_waits_for_an_apply_sees_its_pin(database, sql):
    begin_rollout(sql)
    operator, host = database.session(), database.session()
    operator.run("begin")
    operator.run("select pgflow.apply_deployment('d', without_hosts => true)")
    late = Background(lambda: register(host, "f", "fn", [("f", "a")]))
    database.wait_until_blocked(host.pid())

    operator.run("commit")

    assert late.result() is None


def test_an_apply_that_waits_for_a_registration_sees_its_worker(database, sql):
    begin_rollout(sql)
    sql.run("select pgflow.enable_worker_function('fn')")
    host, operator = database.session(), database.session()
    host.run("begin")
    assert register(host, "f", "fn", [("f", "a")])
    apply = Background(lambda: operator.run("select pgflow.apply_deployment('d', without_hosts => true)"))
    database.wait_until_blocked(operator.pid())

    host.run("commit")

    with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState, match="is at work"):
        apply.result()


@pytest.mark.parametrize("form", ["read_and_claim_tasks", "claim_tasks"])
def test_a_claim_that_waited_for_its_worker_sees_the_pin_that_came_meanwhile(database, sql, form):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    message = sql.one("select msg_id from pgmq.q_f")
    other, claimer = database.session(), database.session()
    other.run("begin")
    other.run("select from pgflow.workers where worker_id = %s for update", worker)
    claim = Background(lambda: claimer.claim(worker, "f") if form == "read_and_claim_tasks" else claimer.run(
        "select outcome, reason from pgflow.claim_tasks('f', %s, %s, array[('f', 'a')::pgflow.task_pair])", [message], worker))
    database.wait_until_blocked(claimer.pid())
    sql.run("insert into pgflow.function_pins (function_name, deployment, queue_name, module_sets) values ('fn', 'd', 'f', '[[\"m\"]]')")

    other.run("commit")

    rows = [(row["outcome"], row["reason"]) if isinstance(row, dict) else row for row in claim.result()]
    assert rows == [("fenced", "must_stop")], "it announced no protocol, so it is told what a host of 0.1 knows"


@pytest.mark.parametrize("waiting", [0, 3])
def test_a_claim_asks_for_the_pin_once(database, sql, waiting):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[%s])) where %s > 0", waiting, waiting)
    # A session that has called nothing yet: counts of earlier calls may still wait in the other.
    claimer = database.session()
    claimer.run("set track_functions = 'all'")
    claimer.run("begin")

    assert len(claimer.claim(worker, "f")) == max(waiting, 1)

    calls = "select pg_stat_get_xact_function_calls('pgflow._pin_fence(pgflow.workers)'::regprocedure)"
    assert claimer.one(calls) == 1
    claimer.run("commit")


def test_two_first_registrations_on_two_queues_are_not_both_accepted(database, sql):
    deploy(sql, "f", {"a": []})
    sql.run("select pgflow.track_worker_function('fn', 'process')")
    first, second = database.session(), database.session()
    first.run("begin")
    assert register(first, "f", "fn", [("f", "a")])
    other = Background(lambda: register(second, "elsewhere", "fn", [("f", "a")]))
    database.wait_until_blocked(second.pid())

    first.run("commit")

    assert other.result() is None


def test_the_guard_leaves_a_lease_alone_that_was_re_read_before_its_commit(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("g", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[3]))")
    read = sql.run("select msg_id, read_ct from pgmq.read('f', 0, 3) order by 1")
    reread = database.session().run("select msg_id from pgmq.read('f', 3600, 1)")

    rows = sql.run("select outcome from pgflow.claim_tasks('f', %s, %s, '{}', %s)",
                   [r[0] for r in read], worker, [r[1] for r in read])

    assert rows == [("unsupported",)] * 3
    assert sql.run("select msg_id from pgmq.q_f where vt > clock_timestamp()") == reread


def test_the_guard_skips_a_message_that_another_session_is_reading(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("g", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[2]))")
    read = sql.run("select msg_id, read_ct from pgmq.read('f', 0, 2) order by 1")
    reader = database.session()
    reader.run("begin")
    reader.run("select from pgmq.read('f', 3600, 1)")

    rows = database.session(lock_timeout="1ms").run(
        "select outcome, reason from pgflow.claim_tasks('f', %s, %s, '{}', %s)",
        [r[0] for r in read], worker, [r[1] for r in read])
    reader.run("commit")

    assert rows == [("busy", "locked"), ("unsupported", None)]
    assert sql.run("select count(*) from pgmq.q_f where vt > clock_timestamp()") == [(1,)]


def test_a_reset_batch_is_visible_to_the_next_read_after_the_commit(database, sql):
    deploy(sql, "f", {"a": []})
    leftover, good = register(sql, "f", "leftover", [("g", "a")]), register(sql, "f", "good", [("f", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[10]))")
    guard = database.session()
    guard.run("begin")
    assert {c["outcome"] for c in guard.claim(leftover, "f")} == {"unsupported"}
    assert [c["outcome"] for c in sql.claim(good, "f")] == ["empty"]

    guard.run("commit")

    assert [c["outcome"] for c in sql.claim(good, "f")] == ["started"] * 10
    assert sql.one("select enabled from pgflow.worker_functions where function_name = 'leftover'") is False


def test_a_pause_that_cannot_be_written_commits_nothing(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("g", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    before = sql.run("select read_ct, vt from pgmq.q_f")
    holder = database.session()
    holder.run("begin")
    holder.run("select from pgflow.worker_functions for update")

    try:
        database.session(lock_timeout="50ms").claim(worker, "f")
        outcome = "committed"
    except Exception as error:
        outcome = error.pgcode
    holder.run("rollback")

    assert outcome == "55P03"
    assert sql.run("select read_ct, vt from pgmq.q_f") == before


def test_release_except_waits_for_a_claim_still_running_on_a_lost_connection(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[3]))")
    lost, fresh = database.session(), database.session()
    held = fresh.claim(worker, "f", 1)
    lost.run("begin")
    lost.claim(worker, "f", 2)
    release = Background(lambda: fresh.one(
        "select pgflow.release_tasks_except(%s, %s::uuid[], %s, %s, %s)", worker, *keys(held)))
    database.wait_until_blocked(fresh.pid())

    lost.run("commit")

    assert release.result() == 2
    assert sql.run("select status, attempts_count from pgflow.step_tasks order by status, claim_no") == [
        ("queued", 0), ("queued", 0), ("started", 1)]
    assert database.violations() == []


def test_an_empty_claim_writes_no_wal_takes_no_transaction_id_and_no_row_lock(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgmq.send('f', '{}', 3600)")
    sql.claim(worker, "f")
    sql.run("begin")

    claims = sql.claim(worker, "f")

    assert [c["outcome"] for c in claims] == ["empty"]
    assert sql.one("select pg_current_xact_id_if_assigned()") is None
    # Of this statement alone: the position of the log moves by what others write, too.
    plan = sql.one("explain (analyze, wal, format json) select * from pgflow.read_and_claim_tasks('f', 10, 5, %s)", worker)[0]["Plan"]
    assert (plan["Actual Rows"], plan["WAL Records"]) == (1, 0)
    assert sql.run("select distinct mode from pg_locks where pid = pg_backend_pid() and locktype <> 'virtualxid'") == [
        ("AccessShareLock",)]
    sql.run("commit")


def test_an_idle_poll_behind_a_million_delayed_messages_touches_a_handful_of_pages(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("insert into pgmq.q_f (vt, message) select clock_timestamp() + interval '1 day', '{}' from generate_series(1, 1000000)")
    sql.claim(worker, "f")

    def pages(statement, *values):
        plan = sql.one("explain (analyze, buffers, format json) " + statement, *values)[0]["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    assert pages("select * from pgflow.read_and_claim_tasks('f', 10, 5, %s)", worker) < 100
    assert pages("select * from pgmq.read('f', 5, 10)") < 100

    sql.run("select pgflow.start_flow('f', '{}')")
    assert [c["outcome"] for c in sql.claim(worker, "f")] == ["started"]


def test_a_claim_of_a_hundred_costs_the_same_on_a_long_queue(database, sql):
    """Plans do not depend on what the tables held when the session began."""
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    for _ in range(10):
        sql.run("select pgflow.start_flow('f', '{}')")
        claims = sql.claim(worker, "f")
        sql.finish(worker, claims, ["completed"])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[20000]))")

    plan = sql.one("explain (analyze, buffers, format json) select * from pgflow.read_and_claim_tasks('f', 100, 5, %s)", worker)
    plan = plan[0]["Plan"]

    assert plan["Actual Rows"] == 100
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 100 * 100


def test_a_claim_reads_the_tasks_of_its_messages_and_no_others(database, sql):
    """Also by a plan made while the queue was short: looking for a hundred among all of them is cheaper then."""
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    for _ in range(10):
        sql.run("select pgflow.start_flow('f', '{}')")
        sql.finish(worker, sql.claim(worker, "f"), ["completed"])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[5000]))")

    sql.run("begin")
    claimed = sql.one("select count(*) from pgflow.read_and_claim_tasks('f', 100, 5, %s)", worker)
    read = sql.one("select idx_tup_fetch + seq_tup_read from pg_stat_xact_user_tables where relid = 'pgflow.step_tasks'::regclass")
    sql.run("rollback")

    assert claimed == 100
    assert read <= 10 * 100


@pytest.mark.parametrize("report", ["completed", "failed", "permanent", "release"])
def test_results_read_their_own_tasks_and_runs_and_no_others(database, sql, report):
    """Also by a plan made when nothing was started: an index of what is started looks as cheap as a key then."""
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[2000]))")
    sql.run("update pgflow.runs set status = 'completed', completed_at = now(), output = '{}', remaining_steps = 0")
    sql.run("analyze pgflow.step_tasks, pgflow.runs")
    sql.run("update pgflow.runs set status = 'started', completed_at = null, output = null, remaining_steps = 1")
    reporter = database.session()
    reporter.run("select pgflow.warm_up('f')")
    claims = [row for _ in range(10) for row in sql.claim(worker, "f", 100)]

    reporter.run("begin")
    if report == "release":
        rows = reporter.run("select outcome from pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array_fill(true, array[100]))",
                            worker, *keys(claims[:100]))
    else:
        rows = reporter.finish(worker, claims[:100], [report] * 100)
    read = reporter.one("select sum(idx_tup_fetch + seq_tup_read) from pg_stat_xact_user_tables"
                        " where relid in ('pgflow.step_tasks'::regclass, 'pgflow.runs'::regclass)")
    reporter.run("rollback")

    assert len(set(rows)) == 1 and len(rows) == 100
    assert read < len(claims)


KEPT_PLANS = """
select ident from pg_backend_memory_contexts
where name = 'CachedPlan' and ident ~ '(from|join|update|into) pgflow\\.(runs|step_states|step_tasks|steps|deps|flows)\\M'
"""


def test_a_session_that_was_warmed_up_has_the_plans_of_its_first_claim_and_results(database, sql):
    deploy(sql, "f", {"a": [], "b": ["a"]})
    worker = register(sql, "f", "fn", [("f", "a"), ("f", "b")])
    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[3]))")
    fresh = database.session()
    fresh.run("select pgflow.warm_up('f')")
    planned = set(fresh.run(KEPT_PLANS))
    assert planned

    for _ in range(2):
        claims = fresh.claim(worker, "f")
        assert fresh.finish(worker, claims, ["completed"] * 3) == [("completed",)] * 3

    assert set(fresh.run(KEPT_PLANS)) - planned == set()
    assert sql.one("select count(*) from pgflow.runs where status = 'completed'") == 3


def test_warming_up_locks_no_row_and_takes_no_transaction_id(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    warming = database.session()
    warming.run("begin")
    warming.run("select pgflow.warm_up('f')")

    assert warming.one("select pg_current_xact_id_if_assigned()") is None
    claims = sql.claim(worker, "f")
    assert sql.finish(worker, claims, ["completed"]) == [("completed",)]
    warming.run("rollback")


def test_maintenance_is_done_by_one_session_at_a_time_and_the_others_do_not_wait(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    sql.claim(worker, "f")
    first, second = database.session(), database.session(lock_timeout="1ms")
    first.run("begin")
    first.run("select pgflow.maintain()")
    sql.run("update pgflow.step_tasks set recover_at = clock_timestamp()")

    assert second.one("select pgflow.maintain()") == 0

    first.run("commit")
    assert second.one("select pgflow.maintain()") == 1


def lose(sql, *flows):
    """Both flows have a task in hand whose host is lost."""
    for flow in flows:
        deploy(sql, flow, {"a": []})
        worker = register(sql, flow, flow + "_fn", [(flow, "a")])
        sql.run("select pgflow.start_flow(%s, '{}')", flow)
        assert [c["outcome"] for c in sql.claim(worker, flow)] == ["started"]
    sql.run("update pgflow.step_tasks set recover_at = clock_timestamp() - interval '1 s'")
    # The one that will be in the way is looked at first.
    sql.run("update pgflow.step_tasks set recover_at = recover_at - interval '1 day' where flow_slug = 'f'")


def statuses(sql):
    return sql.run("select flow_slug, status from pgflow.step_tasks order by 1")


def test_a_message_that_somebody_keeps_locked_stops_the_recovery_of_no_other_queue(database, sql):
    lose(sql, "f", "g")
    reader, host = database.session(), database.session(lock_timeout="0")
    host.run("set statement_timeout = '20s'")
    reader.run("begin")
    reader.run("select from pgmq.q_f for update")

    assert host.one("select pgflow.maintain()") == 1

    assert statuses(sql) == [("f", "started"), ("g", "queued")]
    reader.run("rollback")
    assert host.one("select pgflow.maintain()") == 1


def test_an_exhausted_task_that_somebody_keeps_locked_stops_the_recovery_of_no_other(database, sql):
    lose(sql, "f", "g")
    sql.run("update pgflow.step_tasks set requeued_count = 3 where flow_slug = 'f'")
    operator, host = database.session(), database.session(lock_timeout="0")
    host.run("set statement_timeout = '20s'")
    operator.run("begin")
    operator.run("select from pgflow.step_tasks where flow_slug = 'f' for update")

    assert host.one("select pgflow.maintain()") == 1

    assert statuses(sql) == [("f", "started"), ("g", "queued")]
    operator.run("rollback")
    host.run("select pgflow.maintain()")
    assert statuses(sql) == [("f", "failed"), ("g", "queued")]


def test_a_claim_gives_up_waiting_for_the_row_of_its_worker(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    operator, host = database.session(), database.session(lock_timeout="0")
    host.run("set statement_timeout = '20s'")
    operator.run("begin")
    operator.run("select from pgflow.workers for update")

    with pytest.raises(psycopg2.errors.LockNotAvailable):
        host.claim(worker, "f")

    operator.run("rollback")
    assert [c["outcome"] for c in host.claim(worker, "f")] == ["started"]


def test_results_and_releases_give_up_waiting_for_a_locked_run(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    claims = sql.claim(worker, "f")
    operator, host = database.session(), database.session(lock_timeout="0")
    host.run("set statement_timeout = '20s'")
    operator.run("begin")
    operator.run("select from pgflow.runs for update")

    with pytest.raises(psycopg2.errors.LockNotAvailable):
        host.finish(worker, claims, ["completed"])
    with pytest.raises(psycopg2.errors.LockNotAvailable):
        host.run("select pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array[true])", worker, *keys(claims))

    operator.run("rollback")
    assert host.finish(worker, claims, ["completed"]) == [("completed",)]
