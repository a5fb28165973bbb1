"""An old host that is restarted at once for ever, and one on another machine: through sequences A, B and the shared
variant it never serves, and the rollout's status says so."""

import json

import pytest

from lib.fleet import Fleet, function, more
from lib.programs import run_ctl, wait_until
from lib.rollout import Load, Stubborn, build_ids, entry, manifest, operator, wait_all

QUEUES = MAIN, MAIL = "routed_main", "routed_mail"
V1, V1_NEW, V2 = "routed_v1", "routed_v1_patched", "routed_v2"


@pytest.fixture
def stubborn(hosts):
    """Makes old hosts that are always restarted; they end with the test."""
    made = []

    def make(queue, plugins, *options):
        made.append(Stubborn(lambda: hosts.start(*options, "--activate", "manual", queue=queue, plugins=plugins, wait=False)))
        return made[-1]

    yield make
    for one in made:
        one.end()


def status(database, tmp_path, deployment):
    """`pgflowctl rollout M status`: its exit status, and its rows."""
    text = database.value("select manifest::text from pgflow.deployment_manifest where deployment = %s", deployment)
    file = tmp_path / "manifest.json"
    file.write_text(text)
    url = {"PGFLOW_DATABASE": database.url}
    done = run_ctl("rollout", file, "status", "--json", env=url)
    return done.returncode, json.loads(done.stdout), run_ctl("rollout", file, "status", env=url).stdout


def worked(database, modules):
    """Rows of hosts with exactly these modules that were allowed to work, by when they came."""
    return database.rows(
        "select started_at, worker_id::text from pgflow.workers w where not standby and"
        " array(select m ->> 'buildId' from jsonb_array_elements(w.info -> 'modules') m order by 1) = %s order by 1",
        sorted(build_ids(*modules)))


def served_by(database, modules, since):
    return database.value(
        "select count(*) from pgflow.step_tasks t join pgflow.workers w on w.worker_id = t.last_worker_id"
        " where t.started_at > %s and array(select m ->> 'buildId' from jsonb_array_elements(w.info -> 'modules') m order by 1) = %s",
        since, sorted(build_ids(*modules)))


def never_served(database, modules, since):
    assert [row for row in worked(database, modules) if row.started_at > since] == []
    assert served_by(database, modules, since) == 0


def test_sequence_a_with_an_old_host_that_always_comes_back(database, hosts, stubborn, tmp_path):
    guide, fleet = operator(database), Fleet(hosts, QUEUES, ["--activate", "manual"])
    old = {queue: stubborn(queue, [V1], "--function", function(queue)) for queue in QUEUES}
    for one in old.values():
        one.supervisor.nth(1).log.wait("ready")
    load = Load(database, "routed", {})
    more(load)

    guide.load(manifest("A", *(entry(function(queue), "replace", True, build_ids(V1_NEW), queue=queue) for queue in QUEUES)))
    guide.run("fence")
    guide.run("deprecate")
    since = database.value("select clock_timestamp()")
    wait_until(lambda: guide.waits("wait") is None)
    for one in old.values():
        one.churn("disabled")
    # Nobody stands by with the new code: the apply that was the fault.
    assert "has no live worker that stands by with the modules of the manifest" in guide.waits("apply")
    for queue in QUEUES:
        fleet.running[queue] = hosts.start("--function", function(queue), queue=queue, plugins=[V1_NEW], wait=False)
    fleet.wait("standby")
    guide.run("apply")
    fleet.wait("ready")
    for one in old.values():
        one.churn("wrong_modules")
    elsewhere = [stubborn(MAIN, [V1], "--function", function(MAIN)), stubborn(MAIN, [V1])]
    elsewhere[0].churn("wrong_modules")
    elsewhere[1].churn("not_in_manifest")
    more(load)
    wait_until(lambda: guide.now() is None)

    code, rows, text = status(database, tmp_path, "A")
    load.stop()
    wait_all(database, load.runs)
    never_served(database, [V1], since)
    assert (code, {row["state"] for row in rows}) == (0, {"done"}), text
    for one, word in ((old[MAIN], "wrong_modules"), (elsewhere[0], "wrong_modules"), (elsewhere[1], "not_in_manifest")):
        assert any(f"note: {word}" in line and f"pid {one.supervisor.current().pid})" in line for line in text.splitlines()), text
    assert load.refusals == []
    print(text)
    database.audit()


def test_status_is_not_done_when_the_new_hosts_are_gone_and_only_the_old_one_is_there(database, hosts, stubborn, tmp_path):
    guide, fleet = operator(database), Fleet(hosts, QUEUES, ["--activate", "manual"])
    fleet.start([V1])
    fleet.replace(guide, "A", [V1_NEW])
    wait_until(lambda: guide.now() is None)
    fleet.stop()
    old = stubborn(MAIN, [V1], "--function", function(MAIN))
    old.churn("wrong_modules", times=1)

    code, _, text = status(database, tmp_path, "A")

    assert code == 1 and f'queue "{MAIN}" has no live worker' in text, text
    assert "wrong_modules" in text


def test_sequence_b_with_an_old_host_that_always_comes_back(database, hosts, stubborn, tmp_path):
    guide = operator(database)
    steps = {1: ("first", "second"), 2: ("first", "second", "third")}
    old = {step: stubborn(f"staged_v1__{step}", ["staged_v1"], "--function", f"v1-{step}") for step in steps[1]}
    for one in old.values():
        one.supervisor.nth(1).log.wait("ready")
    load = Load(database, "staged", {})
    more(load)
    guide.load(manifest("B", *(entry(f"v1-{step}", "keep-draining", True, flow="staged_v1") for step in steps[1]),
                        *(entry(f"v2-{step}", "add", True, build_ids("staged_v2"), flow="staged_v2") for step in steps[2])))
    guide.run("fence")
    new = [hosts.start("--function", f"v2-{step}", queue=f"staged_v2__{step}", plugins=["staged_v2"], wait=False) for step in steps[2]]
    for host in new:
        host.log.wait("standby")
    guide.run("apply")
    for host in new:
        host.log.wait("ready")
    wait_until(lambda: guide.waits("confirm_coverage") is None)
    guide.run("switch", flow="staged_v2")
    # The same build under a name that no manifest has does not get at the pinned queues.
    leftover = stubborn("staged_v2__first", ["staged_v2"])
    leftover.churn("not_in_manifest")
    wait_until(lambda: guide.waits("drain", flow="staged_v1") is None)
    guide.load(manifest("B2", *(entry(f"v1-{step}", "retire", False, flow="staged_v1") for step in steps[1])))
    guide.run("fence")
    guide.run("apply")
    since = database.value("select clock_timestamp()")
    guide.run("deprecate_retired")
    guide.run("retire", flow="staged_v1")
    for one in old.values():
        one.churn("disabled")
    more(load)
    load.stop()
    wait_all(database, load.runs)

    never_served(database, ["staged_v1"], since)
    assert leftover.was_ready_after(0) is False
    wait_until(lambda: status(database, tmp_path, "B")[0] == 0)
    # Its old functions stand by as their supervisor brings them back; they are the retiring manifest's to end.
    code, rows, text = status(database, tmp_path, "B2")
    assert [row["name"] for row in rows if row["state"] == "now"] in ([], ["retire"]), text
    print(status(database, tmp_path, "B")[2])
    database.audit()


def test_shared_variant_with_old_hosts_that_always_come_back(database, hosts, stubborn, tmp_path):
    guide, fleet = operator(database), Fleet(hosts, QUEUES, ["--activate", "manual"])
    fleet.start([V1])
    load = Load(database, "routed", {})
    more(load)

    fleet.replace(guide, "both", [V1, V2])
    alone = stubborn(MAIN, [V1], "--function", function(MAIN))
    alone.churn("wrong_modules")
    guide.run("switch", flow=V2)
    more(load)
    alone.churn("wrong_modules")
    wait_until(lambda: guide.waits("drain", flow=V1) is None)
    guide.run("retire", flow=V1)
    wait_until(lambda: guide.now() is None)
    code, rows, text = status(database, tmp_path, "both")
    assert (code, {row["state"] for row in rows}) == (0, {"done"}), text
    assert "note: wrong_modules" in text
    print(text)

    alone.end()
    fleet.replace(guide, "v2 alone", [V2])
    since = database.value("select clock_timestamp()")
    both = stubborn(MAIN, [V1, V2], "--function", function(MAIN))
    both.churn("wrong_modules")
    more(load)
    load.stop()
    wait_all(database, load.runs)

    never_served(database, [V1, V2], since)
    assert alone.was_ready_after(0) is False
    assert database.value("select count(*) from pgflow.worker_functions where paused_at is not null") == 0
    wait_until(lambda: guide.now() is None)
    code, rows, text = status(database, tmp_path, "v2 alone")
    assert (code, {row["state"] for row in rows}) == (0, {"done"}), text
    assert status(database, tmp_path, "both")[0] == 0 and "superseded" in status(database, tmp_path, "both")[2]
    print(text)
    assert load.refusals == []
    database.audit()
