"""Who is told that something about its function has changed: one notification a function, on a channel of its own."""
import hashlib

import psycopg2.extras
import pytest

from conftest import deploy, notifications, register


@pytest.fixture
def listener(database, sql):
    deploy(sql, "f", {"a": [], "b": []})
    session = database.session()
    for name in ("fn", "other"):
        sql.run("select pgflow.track_worker_function(%s, 'process')", name)
        session.run(f'listen "{channel(name)}"')
    return session


def channel(function):
    return "pgflow_f_" + hashlib.sha256(function.encode()).hexdigest()[:32]


def heard(listener):
    names = {channel(name): name for name in ("fn", "other")}
    return sorted(names[found] for found, payload in notifications(listener) if payload == "")


def worker_of_f(sql, function="fn"):
    return register(sql, "f", function, [("f", "a"), ("f", "b")], info={"idleLocks": True, "protocol": 2})


def test_a_channel_is_a_hash_whatever_the_name(sql):
    for name in ("fn", "pgflow-host/bücher", "x" * 1000):
        found = sql.one("select pgflow._control_channel(%s)", name)
        assert found == channel(name) and len(found) < 63


def test_enabling_disabling_and_deprecating_tell_the_function(sql, listener):
    worker_of_f(sql)
    calls = [
        "pgflow.disable_worker_functions(array['fn'])", "pgflow.enable_worker_function('fn')",
        "pgflow.disable_worker_functions(array['fn'])", "pgflow.enable_worker_functions(array['fn'])",
        "pgflow.deprecate_workers(array['fn'])",
    ]
    for call in calls:
        sql.run(f"select {call}")
        assert heard(listener) == ["fn"], call


def test_a_pause_by_the_guard_tells_the_function(sql, listener):
    worker = register(sql, "f", "fn", [("g", "a")])
    sql.run("select pgflow.start_flow('f', '{}')")
    assert sql.claim(worker, "f")[0]["outcome"] == "unsupported"
    assert heard(listener) == ["fn"]


def test_a_fence_and_its_end_tell_each_function_of_the_manifest(sql, listener):
    worker_of_f(sql)
    sql.run("select pgflow.load_manifest(%s)", psycopg2.extras.Json({"deployment": "d", "entries": [
        {"functionName": name, "serves": {"queue": "f"}, "action": "replace", "enabled": False, "startMode": "process",
         "modules": ["0123456789abcdef"]}
        for name in ("fn", "other")]}))
    sql.run("select pgflow.fence_manifest('d')")
    assert heard(listener) == ["fn", "other"]
    sql.run("select pgflow.deprecate_workers(array['fn'])")
    assert heard(listener) == ["fn"]
    sql.run("update pgflow.workers set stopped_at = clock_timestamp()")
    sql.run("select pgflow.apply_manifest('d')")
    assert heard(listener) == ["fn", "other"]


def test_a_switch_tells_the_hosts_of_the_alias(sql, listener):
    deploy(sql, "v1", {"a": []}, alias="v")
    deploy(sql, "v2", {"a": []}, alias="v")
    register(sql, "v2", "other", [("v2", "a")], info={"protocol": 2})
    heard(listener)
    for flow in ("v1", "v2"):
        sql.run("select pgflow.activate_flow('v', %s, true)", flow)
    assert heard(listener) in (["other"], ["other", "other"])


def test_the_end_of_a_run_tells_whoever_works_on_it(sql, listener):
    worker, other = worker_of_f(sql), worker_of_f(sql, "other")
    run = sql.one("select run_id from pgflow.start_flow('f', '{}')")
    sql.run("select pgflow.cancel_run(%s, 'x')", run)
    assert heard(listener) == [], "nobody had begun"

    run = sql.one("select run_id from pgflow.start_flow('f', '{}')")
    assert sql.claim(worker, "f", 1)[0]["outcome"] == "started"
    sql.run("select pgflow.cancel_run(%s, 'x')", run)
    assert heard(listener) == ["fn"]

    sql.run("select pgflow.start_flow('f', '{}')")
    mine, theirs = sql.claim(worker, "f", 1), sql.claim(other, "f", 1)
    assert mine[0]["outcome"] == theirs[0]["outcome"] == "started"
    sql.finish(worker, mine, ["permanent"])
    assert heard(listener) == ["other"], "its run has failed"


def test_results_that_end_nothing_tell_nobody(sql, listener):
    worker = worker_of_f(sql)
    sql.run("select pgflow.start_flow('f', '{}')")
    claims = sql.claim(worker, "f", 2)
    sql.finish(worker, claims, ["completed", "permanent"])
    assert heard(listener) == []
