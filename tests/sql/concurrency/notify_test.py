"""Who is woken: what becomes visible now notifies its queue, once a transaction."""
from conftest import deploy, keys, notifications, register


def test_what_becomes_visible_now_wakes_its_queue_once(database, sql):
    deploy(sql, "f", {"a": [], "b": []})
    worker = register(sql, "f", "fn", [("f", "a"), ("f", "b")])
    listener = database.session()
    listener.run('listen "pgflow_q_f"')

    sql.run("select pgflow.start_flows('f', array_fill('{}'::jsonb, array[5]))")
    assert notifications(listener) == [("pgflow_q_f", "")]

    claims = sql.claim(worker, "f", 10)
    assert len(claims) == 10
    assert notifications(listener) == []

    release = "select count(*) from pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array_fill(false, array[%s]), %s)"
    sql.run(release, worker, *keys(claims[:2]), 2, 0)
    assert notifications(listener) == [("pgflow_q_f", "")]

    sql.run(release, worker, *keys(claims[2:4]), 2, 60)
    assert notifications(listener) == []

    sql.run("select pgflow.release_tasks_except(%s, '{}', '{}', '{}', '{}')", worker)
    assert notifications(listener) == [("pgflow_q_f", "")]

    sql.claim(worker, "f", 10)
    sql.run("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
    sql.run("select pgflow.maintain()")
    assert notifications(listener) == [("pgflow_q_f", "")]


def test_the_guards_reset_wakes_the_others(database, sql):
    deploy(sql, "f", {"a": []})
    worker = register(sql, "f", "fn", [("g", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    listener = database.session()
    listener.run('listen "pgflow_q_f"')

    assert sql.claim(worker, "f")[0]["outcome"] == "unsupported"

    assert notifications(listener) == [("pgflow_q_f", "")]
