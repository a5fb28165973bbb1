"""Starts with the same key by several sessions, each interleaving played once, step by step."""
from conftest import Background, deploy

START = "select run_id, is_new from pgflow.start_flow('f', %s, null, '{\"idempotencyKey\": \"k\"}')"


def test_two_starts_with_one_key_at_once_make_one_run(database, sql):
    deploy(sql, "f", {"a": []})
    one, other = database.session(), database.session()
    one.run("begin")
    [(run, is_new)] = one.run(START, "{}")
    waiting = Background(lambda: other.run(START, "{}"))
    database.wait_until_blocked(other.pid())

    one.run("commit")

    assert is_new and waiting.result() == [(run, False)]
    assert sql.run("select run_id from pgflow.runs") == [(run,)]
    assert database.violations() == []


def test_a_start_that_is_rolled_back_leaves_the_key_to_the_next(database, sql):
    deploy(sql, "f", {"a": []})
    one, other = database.session(), database.session()
    one.run("begin")
    one.run(START, "{}")
    waiting = Background(lambda: other.run(START, '{"another": "input"}'))
    database.wait_until_blocked(other.pid())

    one.run("rollback")

    [(run, is_new)] = waiting.result()
    assert is_new and sql.run("select run_id from pgflow.runs") == [(run,)]


def test_a_start_that_waited_for_retention_of_the_run_starts_anew(database, sql):
    deploy(sql, "f", {"a": []})
    [(old, _)] = sql.run(START, "{}")
    sql.run("select pgflow.cancel_run(%s)", old)
    pruner, other = database.session(), database.session()
    pruner.run("begin")
    assert pruner.one("select pgflow.prune_data_older_than('0')") == 1
    waiting = Background(lambda: other.run(START, "{}"))
    database.wait_until_blocked(other.pid())

    pruner.run("commit")

    [(run, is_new)] = waiting.result()
    assert is_new and run != old
    assert sql.run("select run_id from pgflow.idempotency_keys") == [(run,)]


def test_two_batches_with_the_same_keys_in_opposite_order_do_not_deadlock(database, sql):
    deploy(sql, "f", {"a": []})
    batch = "select array_agg(r::text order by p) from pgflow.start_flows('f', array['1', '2']::jsonb[], %s) with ordinality as s (r, p)"
    reverse = "select array_agg(r::text order by p) from pgflow.start_flows('f', array['2', '1']::jsonb[], %s) with ordinality as s (r, p)"
    one, other = database.session(), database.session()
    one.run("begin")
    first = one.one(batch, '{"idempotencyKey": ["k1", "k2"]}')
    waiting = Background(lambda: other.one(reverse, '{"idempotencyKey": ["k2", "k1"]}'))
    database.wait_until_blocked(other.pid())

    one.run("commit")

    assert waiting.result() == first[::-1]
    assert sql.one("select count(*) from pgflow.runs") == 2
