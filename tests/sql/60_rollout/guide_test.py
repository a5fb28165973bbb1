"""The guide's own SQL blocks, run as an operator: both sequences, the shared queue, refusals, remedies."""

import guide as guides
import pytest
from guide import Refused, entry

# Build-ids.
OLD, NEW = "01d0", "0e3f"
A_ENTRY = entry("fn", "replace", True, [NEW], queue="q")


def manifest(name, *entries, **more):
    return {"deployment": name, "entries": list(entries), **more}


@pytest.fixture
def served(database):
    """Flow v1 of alias v on the shared queue q, with a host of function fn."""
    database.deploy("v1", "v", ["a"], {"a": "q"}, "routed")
    database.track("fn")
    old = database.worker("q", "fn", ["v1/a"], [OLD])
    assert old.register() == "registered"
    return old


def test_blocks_are_the_files_and_every_file_is_a_block():
    shown = guides.blocks()

    assert {file for _, file, _ in shown} == set((guides.SOURCE / "sql" / "rollout").glob("*.sql"))
    for name, file, statement in shown:
        assert statement == file.read_text(), name


def test_other_operation_pages_link_to_both_sequences():
    for page in ("workers", "versioning", "step-queues", "updating"):
        text = (guides.PAGE.parent / f"{page}.md").read_text()
        assert "rollout.md#sequence-a-replace-compatible-code" in text, page
        assert "rollout.md#sequence-b-a-new-concrete-version" in text, page


def test_sequence_a_replaces_code_and_no_old_worker_claims_afterwards(database, guide, served):
    database.start("v")
    assert served.outcomes() == ["started"]
    database.start("v")

    guide.load(manifest("A", A_ENTRY))
    assert guide.now()[0] == "fence"
    assert guide.run("fence")[0]["fenced_at"] != ""
    assert served.outcomes() == ["must_stop"]
    assert guide.now()[0] == "deprecate" and served.id in guide.now()[1]
    assert "select pgflow.rollout_deprecate('A')" in guide.now()[1].splitlines()
    assert guide.run("deprecate") == [{"deprecated": "1"}]
    assert served.outcomes() == ["deprecated"]

    waiting = guide.waits("wait")
    assert f'rollout "A" waits at step "wait": worker {served.id} of function "fn" (here, pid 7) is still working' in waiting
    assert f'worker {served.id} of function "fn" has 1 started task' in waiting
    assert guide.now()[0] == "wait"
    served.claimed = database.rows("select 'started' as outcome, run_id::text, step_slug, task_index, claim_no"
                                   " from pgflow.step_tasks where status = 'started'")
    assert served.finish() == ["completed"]
    served.stop()
    assert guide.waits("wait") is None
    assert guide.now() == ("deploy", 'function "fn" has no live worker that stands by with the modules of the manifest')

    assert 'step "deploy": function "fn" has no live worker' in guide.waits("confirm_modules")
    assert 'step "deploy": function "fn" has no live worker' in guide.waits("apply")
    new = database.worker("q", "fn", ["v1/a"], [NEW])
    assert new.register() == "disabled"
    assert new.register(standby=True) == "registered"
    confirmed = guide.run("confirm_modules")
    assert [(row["state"], row["right_modules"], row["files"]) for row in confirmed] == [("standby", "t", f'["{NEW}.so"]')]
    assert guide.now() == ("apply", "select * from pgflow.rollout_apply('A')")
    assert guide.run("apply") == [{"function_name": "fn", "enabled": "t"}]
    assert guide.now()[0] == "confirm"
    assert 'queue "q" has no live worker' in guide.waits("confirm_coverage")
    assert 'function "fn" has no live worker at work with the modules of the manifest' in guide.now()[1]

    assert new.go_on() == "registered"
    coverage = guide.run("confirm_coverage")
    assert [(row["queue_name"], row["live_workers"], row["covered"]) for row in coverage] == [("q", "1", "t")]
    assert guide.now() is None
    assert served.outcomes() == ["deprecated"]
    assert new.work() == 1


def test_old_process_that_its_supervisor_brought_back_is_shown_and_never_works(database, guide, served):
    guide.load(manifest("A", A_ENTRY))
    guide.run("fence")
    guide.run("deprecate")
    served.stop()
    again = database.worker("q", "fn", ["v1/a"], [OLD])
    assert again.register() == "disabled"
    assert again.register(standby=True) == "registered"
    new = database.worker("q", "fn", ["v1/a"], [NEW])
    new.register(standby=True)

    assert guide.waits("wait") is None
    shown = {row["worker_id"]: row["right_modules"] for row in guide.run("confirm_modules")}
    assert shown == {again.id: "f", new.id: "t"}
    assert f"wrong_modules: worker {again.id}" in guide.note("deploy")

    assert guide.run("apply") == [{"function_name": "fn", "enabled": "t"}]
    assert again.go_on() == "wrong_modules"
    assert database.worker("q", "fn", ["v1/a"], [OLD]).register() == "wrong_modules"
    assert database.worker("q", "pgflow-host/q", ["v1/a"], [OLD]).register() == "not_in_manifest"
    assert new.go_on() == "registered"
    elsewhere = database.worker("q", "fn", ["v1/a"], [OLD])
    assert elsewhere.register(standby=True) == "registered"
    assert guide.now() is None
    assert f"wrong_modules: worker {elsewhere.id}" in guide.note("confirm")


def test_silent_worker_is_not_waited_for_but_refused_unless_deprecated(database, guide, served):
    guide.load(manifest("A", A_ENTRY))
    guide.run("fence")
    database.rows("update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '31 seconds'")

    assert 'step "deprecate"' in guide.waits("wait")
    with pytest.raises(Refused, match=served.id):
        guide.sql("select pgflow.apply_deployment('A', true)")
    guide.run("deprecate")
    assert guide.waits("wait") is None
    database.worker("q", "fn", ["v1/a"], [NEW]).register(standby=True)
    assert guide.run("apply") == [{"function_name": "fn", "enabled": "t"}]
    assert served.outcomes() == ["deprecated"]


def test_started_task_of_a_dead_worker_is_waited_for(database, guide, served):
    database.start("v")
    served.claim()
    guide.load(manifest("A", A_ENTRY))
    guide.run("fence")
    guide.run("deprecate")
    served.stop()

    assert f'worker {served.id} of function "fn" has 1 started task' in guide.waits("wait")


def test_pause_after_the_fence_holds_the_final_states_until_it_is_repaired_and_fenced_again(database, guide, served):
    other = database.worker("q", "leftover", ["v1/a"], ["x"])
    other.register()
    guide.load(manifest("A", A_ENTRY, entry("leftover", "add", True, queue="q")))
    guide.run("fence")
    guide.run("deprecate")
    served.stop()
    database.deploy("w1", "w", ["z"], {"z": "q"}, "routed")
    database.start("w")
    assert other.outcomes() == ["unsupported"]

    database.worker("q", "fn", ["v1/a"], [NEW]).register(standby=True)
    with pytest.raises(Refused, match='"leftover" was paused by the guard'):
        guide.run("apply")
    assert guide.now()[0] == "apply"
    paused = guide.run("pauses")
    assert [(row["function_name"], row["queue_name"], row["worker_id"]) for row in paused] == [("leftover", "q", other.id)]
    assert paused[0]["pairs"] == '[{"flowSlug": "w1", "stepSlug": "z"}]'
    assert 'was paused by the guard' in guide.waits("apply")
    guide.run("refence")

    assert {row["function_name"] for row in guide.run("apply")} == {"fn", "leftover"}


def test_sequence_b_switches_when_every_new_queue_is_covered_and_retires_when_drained(database, guide, served):
    assert database.start("v") == "v1"
    guide.load(manifest(
        "B", entry("fn", "keep-draining", True, flow="v1"), entry("fn2a", "add", True, flow="v2"),
        entry("fn2b", "add", True, flow="v2")))
    guide.run("fence")
    assert database.enabled() == {"fn": True, "fn2a": False, "fn2b": False}
    assert served.must_stop() is False
    hosts = {
        function: database.worker(queue, function, [pair], ["0002"])
        for function, queue, pair in (("fn2a", "v2__a", "v2/a"), ("fn2b", "v2__b", "v2/b"))}
    for host in hosts.values():
        assert host.register(standby=True) == "registered"
    assert guide.now()[0] == "apply"
    guide.run("apply")
    assert database.enabled() == {"fn": True, "fn2a": True, "fn2b": True}
    assert 'flow "v2"' in guide.waits("confirm_coverage")

    database.deploy("v2", "v", ["a", "b<a"], mode="step")
    assert hosts["fn2a"].go_on() == "registered"
    assert hosts["fn2a"].offer("v2") == "waiting"
    assert 'queue "v2__b" has no live worker' in guide.waits("confirm_coverage")
    with pytest.raises(Refused, match='queue "v2__b" has no live worker'):
        guide.run("switch", flow="v2")
    assert database.start("v") == "v1"
    assert hosts["fn2b"].go_on() == "registered"
    assert guide.now()[0] == "switch"

    assert guide.run("switch", flow="v2")[0]["previous_flow_slug"] == "v1"
    assert database.start("v") == "v2"
    assert guide.now()[0] == "drain"
    assert "2 started runs" in guide.waits("drain", flow="v1")
    guide.load(manifest("B2", entry("fn", "retire", False, flow="v1")))
    guide.run("fence")
    with pytest.raises(Refused, match='"fn" is the last on queue "q", which still has work: step "a" of flow "v1"'):
        guide.run("apply")

    assert served.work() == 2
    assert guide.run("drain", flow="v1")[0]["safe_to_retire"] == "t"
    assert guide.run("apply") == [{"function_name": "fn", "enabled": "f"}]
    assert "select pgflow.deprecate_function_workers('{fn}')" in guide.now()[1].splitlines()
    assert guide.run("deprecate_retired") == [{"deprecated": "1"}]
    assert guide.now() == ("retire", 'flow "v1" is in service: select pgflow.retire_flow(\'v1\')')
    assert guide.run("retire", flow="v1")[0]["retired_at"] != ""
    assert guide.now() is None
    assert "retired" in database.refusal("select pgflow.start_flow('v1', '{}')")
    assert hosts["fn2a"].work() + hosts["fn2b"].work() == 2


def test_run_started_after_the_drain_check_is_refused_by_the_retirement_and_served_after_an_enable(database, guide, served):
    database.deploy("v2", "v", ["a"])
    database.worker("v2", "fn2", ["v2/a"], ["0002"]).register()
    guide.run("switch", flow="v2")
    guide.load(manifest("B2", entry("fn", "retire", False, flow="v1")))
    guide.run("fence")
    guide.run("apply")
    assert database.start("v1") == "v1"

    with pytest.raises(Refused, match="1 started run"):
        guide.run("retire", flow="v1")
    guide.run("enable", function="fn")

    assert served.work() == 1
    guide.run("retire", flow="v1")


def test_shared_queue_goes_from_v1_to_both_to_v2(database, guide, served):
    assert database.start("v") == "v1"
    guide.load(manifest("S1", entry("fn", "replace", True, ["0001", "0002"], queue="q")))
    guide.run("fence")
    guide.run("deprecate")
    served.stop()
    both = database.worker("q", "fn", ["v1/a", "v2/a"], ["0001", "0002"])
    both.register(standby=True)
    guide.run("apply")
    database.deploy("v2", "v", ["a"], {"a": "q"}, "routed")
    both.go_on()
    assert guide.now()[0] == "switch"
    assert both.offer("v2") == "activated"
    assert database.start("v") == "v2"

    guide.run("switch", flow="v1")
    assert database.start("v") == "v1"
    assert both.offer("v2") == "superseded"
    guide.run("switch", flow="v2")
    assert [row["to_flow_slug"] for row in guide.run("switches", alias="v")] == ["v2", "v1", "v2", "v1"]
    with pytest.raises(Refused, match="v1"):
        guide.run("retire", flow="v1")
    assert both.work() == 3
    guide.run("retire", flow="v1")
    assert guide.now() is None

    guide.load(manifest("S2", entry("fn", "replace", True, ["0002"], queue="q")))
    guide.run("fence")
    guide.run("deprecate")
    both.stop()
    alone = database.worker("q", "fn", ["v2/a"], ["0002"])
    alone.register(standby=True)
    guide.run("apply")
    assert alone.go_on() == "registered"
    assert guide.now() is None
    database.start("v")
    assert alone.work() == 1
    assert database.rows("select from pgflow.runs where status <> 'completed'") == []


def test_per_step_deployment_must_name_every_function_of_the_flow(database, guide):
    database.deploy("p1", "p", ["a", "b<a"], mode="step")
    for step in "ab":
        database.track(f"p-{step}")
        database.worker(f"p1__{step}", f"p-{step}", [f"p1/{step}"], [OLD]).register()
    alone = entry("p-a", "replace", True, [NEW], queue="p1__a")

    with pytest.raises(Refused, match='function "p-b" consumes queue "p1__b" and is not in the manifest'):
        guide.load(manifest("P", alone))
    assert guide.load(manifest("P", alone, scope="handler"))[0]["deployment"] == "P"
    both = manifest("P2", alone, entry("p-b", "replace", True, [NEW], queue="p1__b"))
    assert guide.load(both)[0]["deployment"] == "P2"


@pytest.mark.parametrize("bad, said", [
    (entry("fn", "swap", True, queue="q"), "action is \"swap\""),
    (entry("fn", "retire", True, queue="q"), "it is retired, and would end enabled"),
    (entry("fn", "keep-draining", False, queue="q"), "it is kept for draining, and would end disabled"),
    (entry("fn", "replace", True, queue="q"), "no modules tell its new processes from its old ones"),
    (entry("fn", "replace", True, [NEW], queue="qq"), 'function "fn" serves queue "qq", which does not exist'),
    (entry("fn", "replace", True, ["flow_v2.so"], queue="q"), 'module "flow_v2.so" is neither a build-id nor a sha256 sum'),
    (entry("other", "replace", True, ["a1"], queue="q"), 'function "fn" consumes queue "q" and is not in the manifest'),
])
def test_bad_manifest_is_refused_by_name_and_changes_nothing(database, guide, served, bad, said):
    with pytest.raises(Refused, match=said):
        guide.load(manifest("bad", bad))

    assert database.value("select count(*) from pgflow.deployment_manifest") == 0


def test_blocks_refuse_a_deployment_that_nobody_loaded(guide):
    guide.set(deployment="nobody")
    for block in ("fence", "deprecate", "wait", "confirm_modules", "apply", "confirm_coverage", "deprecate_retired", "status"):
        with pytest.raises(Refused, match='there is no manifest of deployment "nobody"'):
            guide.run(block)


def test_inspection_blocks_show_queue_needs_and_the_process_behind_a_worker(database, guide, served):
    database.start("v")

    needs = guide.run("queue_needs", queue="Q")
    workers = guide.run("queue_workers", queue="Q")
    found = guide.run("find_worker", worker=served.id)

    assert [(row["flow_slug"], row["step_slug"], row["reasons"], row["queued"]) for row in needs] == [
        ("v1", "a", "active, draining, executable", "1")]
    assert [(row["worker_id"], row["flows"], row["build_ids"]) for row in workers] == [(served.id, f'["{OLD}"]', f'["{OLD}"]')]
    assert (found[0]["host"], found[0]["pid"], found[0]["function_name"]) == ("here", "7", "fn")
    assert guide.run("workers_missing") == []
    served.stop()
    assert [row["function_name"] for row in guide.run("workers_missing")] == ["fn"]


def test_old_version_comes_back_from_retirement(database, guide, served):
    database.deploy("v2", "v", ["a"])
    database.worker("v2", "fn2", ["v2/a"], ["0002"]).register()
    guide.run("switch", flow="v2")
    guide.run("retire", flow="v1")
    with pytest.raises(Refused, match="retired"):
        guide.run("switch", flow="v1")

    assert guide.run("unretire", flow="v1")[0]["retired_at"] == ""
    assert guide.run("switch", flow="v1")[0]["active_flow_slug"] == "v1"
