"""The guide's chapter "Abort and go back", and what status says of deployments that end otherwise."""

import pytest
from guide import Refused, entry

# Build-ids.
OLD, NEW = "01d0", "0e3f"


def replace(name, *modules, action="replace"):
    return {"deployment": name, "entries": [entry("fn", action, True, modules, queue="q")]}


@pytest.fixture
def served(database):
    """Flow v1 of alias v on the shared queue q, with a host of function fn."""
    database.deploy("v1", "v", ["a"], {"a": "q"}, "routed")
    database.track("fn")
    old = host(database, OLD)
    assert old.register() == "registered"
    return old


def host(database, *modules, pairs=("v1/a",)):
    return database.worker("q", "fn", list(pairs), list(modules))


def roll_out(guide, old, new, manifest):
    """Sequence A, from the host that works to the one that is to."""
    guide.load(manifest)
    guide.run("fence")
    guide.run("deprecate")
    old.stop()
    assert new.register(standby=True) == "registered"
    guide.run("apply")
    assert new.go_on() == "registered"


def pin(database):
    row = database.rows("select deployment, module_sets from pgflow.function_pins where function_name = 'fn' and ended_at is null")
    return tuple(row[0]) if row else None


def abort(guide):
    """Runs the block until it is done; the stages."""
    stages = []
    while not stages or stages[-1][1] == "f":
        row = guide.run("abort")[0]
        stages.append((row["stage"], row["is_done"], row["lines"]))
    return [stage[0] for stage in stages], stages[-1][2]


def test_before_the_apply_the_old_hosts_serve_again_and_the_new_ones_do_not(database, guide, served):
    guide.load(replace("A", NEW))
    guide.run("fence")
    guide.run("deprecate")
    served.stop()
    again, new = host(database, OLD), host(database, NEW)
    again.register(standby=True)
    new.register(standby=True)

    assert abort(guide) == (["restored"], f'function "fn" is enabled, for hosts that carry exactly {OLD}')

    assert again.go_on() == "registered"
    assert new.go_on() == "wrong_modules"
    assert pin(database) == ("A", [[OLD]])
    assert guide.now()[0] == "end" and "it was aborted at" in guide.now()[1]
    assert abort(guide)[0] == ["aborted"]
    assert "it was aborted at" in guide.waits("fence") and "it was aborted at" in guide.waits("apply")


def test_before_the_apply_an_earlier_pin_stays_as_it_is(database, guide, served):
    old = host(database, OLD)
    roll_out(guide, served, old, replace("A", OLD))
    guide.load(replace("B", NEW))
    guide.run("fence")

    abort(guide)

    assert pin(database) == ("A", [[OLD]])
    assert old.claim()[0].outcome in ("empty", "started")


def test_before_the_apply_functions_get_the_states_that_the_fence_found(database, guide, served):
    served.stop()
    database.track("off", "odd")
    database.rows("select pgflow.disable_worker_functions('{off}')")
    database.rows("update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp(), pause_reason = '{\"queue\": \"q\"}'"
                  " where function_name = 'odd'")
    guide.load({"deployment": "A", "entries": [
        *replace("", NEW)["entries"], entry("off", "replace", True, [NEW], queue="q"), entry("odd", "replace", True, [NEW], queue="q"),
        entry("fresh", "add", True, queue="q")]})
    guide.run("fence")
    # The guard pauses one after the fence.
    database.rows("update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp(), pause_reason = '{\"queue\": \"x\"}'"
                  " where function_name = 'off'")

    _, lines = abort(guide)

    rows = {row.function_name: (row.enabled, row.pause_reason) for row in
            database.rows("select function_name, enabled, pause_reason from pgflow.worker_functions")}
    assert rows == {"fn": (True, None), "off": (False, {"queue": "x"}), "odd": (False, {"queue": "q"}), "fresh": (False, None)}
    assert 'function "off" stays paused by the guard' in lines and 'function "fresh" is disabled, as it was' in lines


def test_after_the_apply_it_is_a_sequence_a_backwards(database, guide, served):
    old, new = host(database, OLD), host(database, NEW)
    roll_out(guide, served, old, replace("A", OLD))
    roll_out(guide, old, new, replace("B", NEW))
    assert pin(database) == ("B", [[NEW]])
    database.start("v")
    assert new.outcomes() == ["started"]

    first = guide.run("abort")[0]
    assert (first["stage"], first["is_done"], first["lines"]) == ("fenced", "f", 'function "fn" is fenced')
    assert pin(database) == ("A", [[OLD]])
    assert guide.now()[0] == "abort" and "is not deprecated" in guide.now()[1]
    assert guide.run("abort")[0]["stage"] == "deprecated"
    assert new.claim()[0].reason == "deprecated"
    waiting = guide.waits("abort")
    assert f'the way back of "B" waits: worker {new.id} of function "fn" has 1 started task' in waiting, waiting
    assert f'function "fn" has no live worker that stands by with the code from before ({OLD})' in waiting
    new.claimed = database.rows("select 'started' as outcome, run_id::text, step_slug, task_index, claim_no"
                                " from pgflow.step_tasks where status = 'started'")
    new.finish()
    new.stop()
    assert guide.waits("abort").count("has no live worker that stands by") >= 1
    back = host(database, OLD)
    assert back.register(standby=True) == "registered"

    last = guide.run("abort")[0]

    assert (last["stage"], last["is_done"]) == ("restored", "t")
    assert back.go_on() == "registered"
    assert host(database, NEW).register() == "wrong_modules"
    assert guide.now()[0] == "end"
    guide.set(deployment="A")
    assert guide.now() is None


def test_after_the_apply_a_guards_pause_stays(database, guide, served):
    new = host(database, NEW)
    roll_out(guide, served, new, replace("A", NEW))
    database.rows("update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp(), pause_reason = '{\"queue\": \"q\"}'")
    guide.run("abort")
    guide.run("abort")
    new.stop()

    stages, lines = abort(guide)

    assert (stages, lines) == (["restored"], 'function "fn" stays paused by the guard')
    assert database.value("select paused_at is not null and not enabled from pgflow.worker_functions")


def test_after_the_apply_without_the_old_code_is_a_deliberate_act(database, guide, served):
    new = host(database, NEW)
    roll_out(guide, served, new, replace("A", NEW))
    guide.run("abort")
    guide.run("abort")
    new.stop()

    assert "has no live worker that stands by" in guide.waits("abort")
    database.rows("select pgflow.abort_manifest('A', without_hosts => true)")

    assert database.enabled() == {"fn": True}
    assert pin(database) == ("A", [[OLD]])


def test_new_functions_are_out_of_service_after_an_abort_and_old_ones_were_never_touched(database, guide, served):
    guide.load({"deployment": "B", "entries": [
        entry("fn", "keep-draining", True, queue="q"), entry("fn2", "add", True, ["0002"], flow="v2")]})
    guide.run("fence")
    new = database.worker("v2", "fn2", ["v2/a"], ["0002"])
    new.register(standby=True)
    guide.run("apply")
    database.deploy("v2", "v", ["a"])
    assert new.go_on() == "registered"

    guide.run("abort")
    guide.run("abort")
    new.stop()
    assert abort(guide)[0] == ["restored"]

    assert database.enabled() == {"fn": True, "fn2": False}
    assert served.must_stop() is False


def test_after_the_switch_it_says_how_to_go_back_and_why_it_cannot(database, guide, served):
    both = host(database, OLD, NEW, pairs=("v1/a", "v2/a"))
    roll_out(guide, served, both, replace("S", OLD, NEW))
    database.deploy("v2", "v", ["a"], {"a": "q"}, "routed")
    both.go_on()
    guide.run("switch", flow="v2")
    database.start("v")

    refused = guide.waits("abort")
    assert 'deployment "S" cannot be aborted: alias "v" points at "v2" and pointed at "v1" before' in refused
    assert "select pgflow.activate_flow('v', 'v1')" in refused
    assert 'flow "v2" came with it and has 1 started run' in refused
    assert database.enabled() == {"fn": True}

    guide.run("switch", flow="v1")
    assert 'flow "v2" came with it and has 1 started run' in guide.waits("abort") and "alias" not in guide.waits("abort").split("HINT")[0]
    assert both.work() == 1
    assert guide.run("abort")[0]["stage"] == "fenced"


def test_what_a_later_deployment_took_over_is_not_taken_back_and_is_superseded(database, guide, served):
    old, new = host(database, OLD), host(database, NEW)
    roll_out(guide, served, old, replace("A", OLD))
    roll_out(guide, old, new, replace("B", NEW))
    guide.set(deployment="A")

    assert 'belongs to deployment "B" since' in guide.waits("abort")
    row = guide.run("status")
    assert [(one["name"], one["state"]) for one in row] == [("end", "superseded")]
    assert 'deployment "B" took over function "fn" at' in row[0]["notes"]
    for block in ("fence", "deprecate", "wait", "confirm_modules", "apply", "confirm_coverage"):
        assert guide.waits(block) is None, block
    assert database.enabled() == {"fn": True}
    assert new.must_stop() is False


def test_a_deployment_can_be_closed_unless_its_fence_holds_something(database, guide, served):
    guide.load(replace("A", NEW))
    guide.run("fence")

    assert 'its fence holds function "fn"' in guide.waits("close")
    guide.run("deprecate")
    served.stop()
    new = host(database, NEW)
    new.register(standby=True)
    guide.run("apply")
    new.go_on()
    assert guide.run("close")[0]["closed_by"] == "deployer"
    assert guide.now()[0] == "end" and "it was closed at" in guide.now()[1]
    assert new.must_stop() is False


def test_a_deployment_that_was_only_loaded_is_closed(database, guide, served):
    guide.load(replace("A", NEW))

    assert abort(guide) == (["closed"], "")
    assert database.enabled() == {"fn": True}


def test_a_fence_that_somebody_lifts_by_hand_opens_its_step_again(database, guide, served):
    guide.load(replace("A", NEW))
    guide.run("fence")
    guide.run("deprecate")
    served.stop()
    assert guide.now()[0] == "deploy"

    database.rows("select pgflow.enable_worker_functions('{fn}', force => true)")

    assert guide.now()[0] == "fence" and 'function "fn" is enabled: somebody lifted its fence' in guide.now()[1]
    guide.run("fence")
    assert guide.now()[0] == "deploy"


def test_after_the_apply_status_tells_what_is_not_so_any_more(database, guide, served):
    new = host(database, NEW)
    roll_out(guide, served, new, replace("A", NEW))
    assert guide.now() is None

    guide.run("unpin", function="fn")
    assert guide.now()[0] == "apply" and 'function "fn" was unpinned at' in guide.now()[1] and "by deployer" in guide.now()[1]
    assert "was unpinned" in guide.waits("apply")
    fix = host(database, "f1")
    assert fix.register() == "registered"
    database.rows("select pgflow.fence_deployment('A', true)")
    guide.run("deprecate")
    assert f"worker {fix.id} of function" in guide.waits("wait")
    fix.stop()
    new.stop()
    last = host(database, NEW)
    last.register(standby=True)
    guide.run("apply")
    last.go_on()
    assert guide.now() is None

    database.rows("select pgflow.disable_worker_functions('{fn}')")
    assert guide.now() == ("apply", 'function "fn" is disabled, and the manifest declares otherwise')
    guide.run("enable", function="fn")
    last.stop()
    assert guide.now()[0] == "confirm" and 'queue "q" has no live worker' in guide.now()[1]


def test_other_code_at_work_after_the_apply_is_no_done(database, guide, served):
    new = host(database, NEW)
    roll_out(guide, served, new, replace("A", NEW))
    # A process that works although it should not: what the status would see if the pin failed.
    database.rows("insert into pgflow.workers (worker_id, queue_name, function_name, info) values"
                  " (gen_random_uuid(), 'q', 'fn', '{\"modules\": [{\"buildId\": \"01d0\"}]}')")

    assert guide.now()[0] == "confirm" and "does not carry exactly the modules of the manifest and is at work" in guide.now()[1]


def test_pins_are_shown(database, guide, served):
    roll_out(guide, served, host(database, NEW), replace("A", NEW))

    shown = guide.run("pins")

    assert [(row["function_name"], row["deployment"], row["serves"], row["module_sets"]) for row in shown] == [
        ("fn", "A", "q", f'[["{NEW}"]]')]


def test_a_rerun_of_every_block_changes_nothing_of_what_is_done(database, guide, served):
    manifest, new = replace("A", NEW), host(database, NEW)
    roll_out(guide, served, new, manifest)
    before = database.rows("select * from pgflow.workers order by worker_id"), database.rows("select * from pgflow.function_pins")

    guide.load(manifest)
    for block in ("fence", "deprecate", "wait", "confirm_modules", "apply", "confirm_coverage"):
        guide.run(block)

    assert (database.rows("select * from pgflow.workers order by worker_id"), database.rows("select * from pgflow.function_pins")) == before
    assert new.must_stop() is False
    with pytest.raises(Refused, match="its final states are set since"):
        guide.sql("select pgflow.fence_manifest('A')")
