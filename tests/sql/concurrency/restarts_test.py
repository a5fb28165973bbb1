"""Retries and resumes of the same runs by several sessions, each interleaving played once, step by step."""
import psycopg2
import pytest

from conftest import Background, deploy, register


def failed_run(sql, alias=None):
    """A run of a -> b that completed a and failed in b."""
    deploy(sql, "f", {"a": [], "b": ["a"]}, alias=alias)
    worker = register(sql, "f", "fn", [("f", "a"), ("f", "b")])
    run = sql.one("select run_id from pgflow.start_flow('f', '{}')")
    assert sql.finish(worker, sql.claim(worker, "f"), ["completed"]) == [("completed",)]
    assert sql.finish(worker, sql.claim(worker, "f"), ["permanent"]) == [("failed",)]
    assert sql.one("select status from pgflow.runs where run_id = %s", run) == "failed"
    return run


@pytest.mark.parametrize("first, second", [("resume_runs", "resume_runs"), ("retry_runs", "resume_runs"),
                                           ("resume_runs", "retry_runs")])
def test_two_restarts_of_one_run_at_once_make_one_run(database, sql, first, second):
    run = failed_run(sql)
    one, other = database.session(), database.session()
    one.run("begin")
    made = one.one(f"select new_run_id from pgflow.{first}(array[%s]::uuid[])", run)
    waiting = Background(lambda: other.run(f"select new_run_id, refused from pgflow.{second}(array[%s]::uuid[])", run))
    database.wait_until_blocked(other.pid())

    one.run("commit")

    [(none, refused)] = waiting.result()
    assert none is None and refused.startswith(f"it was restarted as run {made} at ")
    assert sql.run("select run_id from pgflow.run_restarts") == [(made,)]
    assert sql.one("select count(*) from pgflow.runs") == 2
    assert database.violations() == []


def test_a_restart_whose_snapshot_is_older_than_another_one_makes_no_second_run(database, sql):
    run = failed_run(sql)
    late = database.session()
    late.run("begin isolation level repeatable read")
    late.run("select count(*) from pgflow.runs")
    sql.run("select * from pgflow.resume_runs(array[%s]::uuid[])", run)

    with pytest.raises(psycopg2.errors.UniqueViolation):
        late.run("select * from pgflow.resume_runs(array[%s]::uuid[])", run)

    late.run("rollback")
    assert sql.one("select count(*) from pgflow.runs") == 2


def test_many_runs_in_opposite_order_do_not_deadlock(database, sql):
    runs = [failed_run(sql)] + [None]
    runs[1] = sql.one("select run_id from pgflow.start_flow('f', '{}')")
    sql.run("select pgflow.cancel_run(%s)", runs[1])
    one, other = database.session(), database.session()
    one.run("begin")
    assert [r for _, r in one.run("select new_run_id, refused from pgflow.resume_runs(array[%s, %s]::uuid[])", *runs)] == [None, None]
    waiting = Background(lambda: other.run("select refused is null from pgflow.resume_runs(array[%s, %s]::uuid[])", *reversed(runs)))
    database.wait_until_blocked(other.pid())

    one.run("commit")

    assert waiting.result() == [(False,), (False,)]
    assert sql.one("select count(*) from pgflow.run_restarts") == 2
    assert database.violations() == []


def test_a_restart_that_waited_for_retention_finds_no_run(database, sql):
    run = failed_run(sql)
    pruner, operator = database.session(), database.session()
    pruner.run("begin")
    assert pruner.one("select pgflow.prune_data_older_than('0')") == 1
    waiting = Background(lambda: operator.run("select refused from pgflow.resume_runs(array[%s]::uuid[])", run))
    database.wait_until_blocked(operator.pid())

    pruner.run("commit")

    assert waiting.result() == [(f"there is no run {run}; it may have been pruned or deleted with its flow",)]
    assert sql.one("select count(*) from pgflow.runs") == 0


def test_retention_passes_a_run_that_is_being_restarted(database, sql):
    run = failed_run(sql)
    operator = database.session()
    operator.run("begin")
    made = operator.one("select new_run_id from pgflow.resume_runs(array[%s]::uuid[])", run)

    assert sql.one("select pgflow.prune_data_older_than('0')") == 0

    operator.run("commit")
    assert sql.one("select pgflow.prune_data_older_than('0')") == 1
    assert sql.run("select run_id, status from pgflow.runs") == [(made, "started")]
    assert database.violations() == []


def test_a_restart_that_waited_for_the_retirement_of_its_flow_is_refused(database, sql):
    run = failed_run(sql, alias="report")
    deploy(sql, "g", {"a": []}, alias="report")
    sql.run("select pgflow.activate_flow('report', 'g', true)")
    retiring, operator = database.session(), database.session()
    retiring.run("begin")
    retiring.run("select pgflow.retire_flow('f')")
    waiting = Background(lambda: operator.run("select refused from pgflow.resume_runs(array[%s]::uuid[])", run))
    database.wait_until_blocked(operator.pid())

    retiring.run("commit")

    [(refused,)] = waiting.result()
    assert refused.startswith('flow "f" is retired and takes no new runs')
    assert sql.one("select count(*) from pgflow.runs") == 1
