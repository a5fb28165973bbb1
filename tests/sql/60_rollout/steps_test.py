"""The steps that pgflowctl's driver takes by one call each: the switch, the retirement, and the manifest of the latter."""

import json

import pytest
from guide import Refused, entry


@pytest.fixture
def applied(database, guide):
    """Sequence B up to its switch: v1 on queue q with function fn, v2 on two queues of its own."""
    database.deploy("v1", "v", ["a"], {"a": "q"}, "routed")
    database.track("fn")
    old = database.worker("q", "fn", ["v1/a"], ["01d0"])
    assert old.register() == "registered"
    database.deploy("v2", "v", ["a", "b<a"], mode="step")
    guide.load({"deployment": "B", "entries": [
        entry("fn", "keep-draining", True, flow="v1"), entry("fn2a", "add", True, flow="v2"), entry("fn2b", "add", True, flow="v2")]})
    guide.run("fence")
    for function, queue, pair in (("fn2a", "v2__a", "v2/a"), ("fn2b", "v2__b", "v2/b")):
        host = database.worker(queue, function, [pair], ["0002"])
        host.register(standby=True)
        database.hosts = [*getattr(database, "hosts", []), host]
    return old


def switch(guide):
    return guide.sql("select * from pgflow.rollout_switch('B')")


def retire(guide, deployment="B"):
    return [(row["stage"], row["name"]) for row in guide.sql(f"select * from pgflow.rollout_retire('{deployment}')")]


def retirement(guide):
    (row,) = guide.sql("select coalesce(pgflow.retirement_manifest('B'), 'null') as manifest")
    return json.loads(row["manifest"])


def bring_to_the_switch(database, guide):
    guide.run("apply")
    for host in database.hosts:
        assert host.go_on() == "registered"
    assert guide.now()[0] == "switch"


def test_switch_waits_for_its_turn_is_made_once_and_names_both_versions(database, guide, applied):
    with pytest.raises(Refused, match='waits at step "apply"'):
        switch(guide)
    bring_to_the_switch(database, guide)

    made = switch(guide)

    assert made == [{"alias": "v", "from_flow_slug": "v1", "to_flow_slug": "v2"}]
    assert switch(guide) == []
    assert database.start("v") == "v2"
    assert database.rows("select by from pgflow.alias_switches where to_flow_slug = 'v2'")[0][0] != ""


def test_retirement_is_a_deployment_of_its_own_that_ends_functions_and_version(database, guide, applied):
    bring_to_the_switch(database, guide)
    database.start("v1")
    switch(guide)
    with pytest.raises(Refused, match='waits at step "drain"'):
        retire(guide)
    assert applied.work() == 1

    made = retirement(guide)
    assert made == {"deployment": "B: retire", "scope": "all", "entries": [
        {"functionName": "fn", "action": "retire", "enabled": False, "startMode": "process", "serves": {"flow": "v1"}}]}
    guide.load(made)
    guide.run("fence")
    guide.run("apply")
    assert retirement(guide) == made  # what was loaded, although its functions are another deployment's now
    assert retire(guide, "B: retire") == [("deprecated", "fn")]
    assert retire(guide, "B: retire") == [("retired", "v1")]
    assert retire(guide, "B: retire") == []
    assert guide.now() is None
    guide.set(deployment="B")
    assert guide.now() is None
    assert database.enabled() == {"fn": False, "fn2a": True, "fn2b": True}


def test_function_that_serves_another_flow_too_is_not_retired_with_the_old_version(database, guide, applied):
    database.deploy("other", "other", ["a"], {"a": "q"}, "routed")

    assert retirement(guide) is None


def test_manifest_that_keeps_nothing_draining_has_no_retirement(database, guide):
    database.deploy("v1", "v", ["a"], {"a": "q"}, "routed")
    database.track("fn")
    guide.load({"deployment": "B", "entries": [entry("fn", "replace", True, ["01d0"], queue="q")]})

    assert retirement(guide) is None
    with pytest.raises(Refused, match='deployment "nobody"'):
        guide.sql("select pgflow.retirement_manifest('nobody')")
