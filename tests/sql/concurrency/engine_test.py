"""Interleavings of starts and results with other sessions, each played once, step by step."""
import psycopg2
import pytest

from conftest import Background, deploy, keys, register


def test_the_last_two_tasks_of_a_map_finished_at_once_close_it_once(database, sql):
    sql.run("select pgflow.create_flow('f')")
    sql.run("select pgflow.add_step('f', 'each', step_type => 'map')")
    sql.run("select pgflow.add_step('f', 'end', '{each}')")
    worker = register(sql, "f", "fn", [("f", "each"), ("f", "end")])
    run = sql.one("select run_id from pgflow.start_flow('f', '[1, 2]')")
    first, second = sql.claim(worker, "f")
    one, other = database.session(), database.session()
    one.run("begin")
    assert one.finish(worker, [first], ["completed"]) == [("completed",)]
    finishing = Background(lambda: other.finish(worker, [second], ["completed"]))
    database.wait_until_blocked(other.pid())

    one.run("commit")

    assert finishing.result() == [("completed",)]
    assert sql.run("select status, remaining_tasks, output from pgflow.step_states where step_slug = 'each'") == [
        ("completed", 0, [[1, 2], [1, 2]])]
    assert sql.one("select count(*) from pgflow.step_tasks where step_slug = 'end' and run_id = %s", run) == 1
    assert database.violations() == []


def test_a_result_that_waited_for_a_cancellation_changes_nothing(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    run = sql.one("select run_id from pgflow.start_flow('f', '{}')")
    claims = sql.claim(worker, "f")
    operator, host = database.session(), database.session()
    operator.run("begin")
    operator.run("select pgflow.cancel_run(%s, 'stop')", run)
    finishing = Background(lambda: host.finish(worker, claims, ["completed"]))
    database.wait_until_blocked(host.pid())

    operator.run("commit")

    assert finishing.result() == [("again",)]
    assert sql.run("select status, remaining_steps from pgflow.runs") == [("cancelled", 1)]
    assert database.violations() == []


def test_a_completion_that_waited_for_the_recovery_of_its_task_is_late(database, sql):
    """Recovery locks the task alone: the fence must be tested on what it made of the row."""
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("f", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    claims = sql.claim(worker, "f")
    sql.run("update pgflow.step_tasks set recover_at = clock_timestamp()")
    recovery, host = database.session(), database.session()
    recovery.run("begin")
    assert recovery.one("select pgflow.requeue_stalled_tasks()") == 1
    finishing = Background(lambda: host.finish(worker, claims, ["completed"]))
    database.wait_until_blocked(host.pid())

    recovery.run("commit")

    assert finishing.result() == [("late",)]
    assert sql.run("select status, claim_no, output from pgflow.step_tasks") == [("queued", 2, None)]
    assert database.violations() == []


def test_a_failing_run_cancels_a_task_whose_claim_is_still_in_flight(database, sql):
    deploy(sql, "f", {"a": [], "b": []})
    worker = register(sql, "f", "fn", [("f", "a"), ("f", "b")])
    sql.run("update pgflow.flows set opt_max_attempts = 1")
    sql.run("select pgflow.start_flow('f', '{}')")
    first = sql.claim(worker, "f", 1)
    claimer, host = database.session(), database.session()
    claimer.run("begin")
    second = claimer.claim(worker, "f", 1)
    failing = Background(lambda: host.finish(worker, first, ["failed"]))
    database.wait_until_blocked(host.pid())

    claimer.run("commit")

    assert failing.result() == [("failed",)]
    assert sql.one("select status from pgflow.step_tasks where step_slug = %s", second[0]["step_slug"]) == "cancelled"
    assert sql.finish(worker, second, ["completed"]) == [("again",)]
    assert database.violations() == []


def test_a_release_of_several_tasks_and_a_result_that_ends_their_run_do_not_deadlock(database, sql):
    sql.run("select pgflow.create_flow('f', max_attempts => 1)")
    sql.run("select pgflow.add_step('f', 'each', step_type => 'map')")
    worker = register(sql, "f", "fn", [("f", "each")])
    sql.run("select pgflow.start_flow('f', '[1, 2, 3]')")
    claims = sorted(sql.claim(worker, "f"), key=lambda claim: claim["task_index"])
    releaser, host, gate = database.session(), database.session(), database.session()
    gate.run("begin")
    gate.run("select from pgflow.step_tasks where task_index = 0 for update")
    release = Background(lambda: releaser.run(
        "select outcome from pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array[true, true, true]) order by item",
        worker, *keys(claims)))
    database.wait_until_blocked(releaser.pid())
    failing = Background(lambda: host.finish(worker, claims[2:], ["failed"]))
    database.wait_until_blocked(host.pid())

    gate.run("commit")

    assert release.result() == [("released",)] * 3
    assert failing.result() == [("late",)]
    assert database.violations() == []


def test_a_batch_that_finishes_one_step_and_fails_the_run_waits_for_no_flow(database, sql):
    # A row that a transaction writes twice has its foreign keys checked again, which locks the flow: behind a deletion
    # that has the flow and waits for this very run.
    deploy(sql, "f", {"a": [], "b": [], "c": ["a"]})
    worker = register(sql, "f", "fn", [("f", "a"), ("f", "b"), ("f", "c")])
    sql.run("select pgflow.start_flow('f', '{}')")
    claims = sorted(sql.claim(worker, "f"), key=lambda claim: claim["step_slug"])
    operator, host = database.session(), database.session(lock_timeout="1s")
    operator.run("begin")
    operator.run("select from pgflow.flows for update")

    assert host.finish(worker, claims, ["completed", "permanent"]) == [("completed",), ("failed",)]

    operator.run("rollback")
    assert sql.run("select status, remaining_steps from pgflow.runs") == [("failed", 2)]
    assert database.violations() == []


def test_a_start_waits_for_a_retirement_and_refuses_the_flow_by_name(database, sql):
    deploy(sql, "f", {"a": []})
    operator, client = database.session(), database.session()
    operator.run("begin")
    operator.run("select pgflow.retire_flow('f')")
    start = Background(lambda: client.run("select pgflow.start_flow('f', '{}')"))
    database.wait_until_blocked(client.pid())

    operator.run("commit")

    with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState, match='flow "f" is retired'):
        start.result()
    assert sql.one("select count(*) from pgflow.runs") == 0


def test_a_start_through_an_alias_that_is_switched_and_retired_meanwhile_goes_to_the_new_version(database, sql):
    for version in ("t_v1", "t_v2"):
        sql.run("select pgflow.ensure_deployment(jsonb_build_object('flowSlug', %s::text, 'alias', 't', 'steps',"
                " jsonb_build_array(jsonb_build_object('slug', 'a', 'dependencies', '[]'::jsonb))))", version)
    operator, client = database.session(), database.session()
    operator.run("begin")
    operator.run("select pgflow.activate_flow('t', 't_v2', true)")
    operator.run("select pgflow.retire_flow('t_v1')")
    start = Background(lambda: client.one("select flow_slug from pgflow.start_flow('t', '{}')"))
    database.wait_until_blocked(client.pid())

    operator.run("commit")

    assert start.result() == "t_v2"


def test_a_retirement_sees_a_run_that_was_starting(database, sql):
    deploy(sql, "f", {"a": []})
    client, operator = database.session(), database.session()
    client.run("begin")
    client.run("select pgflow.start_flow('f', '{}')")
    retirement = Background(lambda: operator.run("select pgflow.retire_flow('f')"))
    database.wait_until_blocked(operator.pid())

    client.run("commit")

    with pytest.raises(psycopg2.Error):
        retirement.result()
    assert sql.one("select retired_at from pgflow.flows") is None


def test_a_step_is_not_added_beside_a_start(database, sql):
    sql.run("select pgflow.create_flow('f')")
    sql.run("select pgflow.add_step('f', 'a')")
    starter, adder = database.session(), database.session()
    starter.run("begin")
    starter.run("select pgflow.start_flow('f', '{}')")

    adding = Background(lambda: adder.run("select pgflow.add_step('f', 'b')"))
    database.wait_until_blocked(adder.pid())
    starter.run("commit")

    with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState, match="it has runs"):
        adding.result()
