"""pgflowctl rollout M run: the sequences driven to their end, with real hosts that hooks stop and start."""

import json
import re

import pytest

from lib.fleet import active, assert_ran_once, assert_wholly_one_version, flows_of, more
from lib.paths import SOURCE, module
from lib.rollout import Load, build_ids, wait_all
from lib.site import Site

ROUTED = {"main": "routed_main", "mail": "routed_mail"}
OLD_STAGED = {"old-first": "staged_v1__first", "old-second": "staged_v1__second"}
NEW_STAGED = {"new-first": "staged_v2__first", "new-second": "staged_v2__second", "new-third": "staged_v2__third"}


@pytest.fixture
def site(database, tmp_path):
    made = Site(database, tmp_path)
    yield made
    made.end()


def is_done(site, path):
    status = site.ctl("rollout", path, "status")
    assert status.returncode == 0, status.stdout
    return True


def enabled(database):
    return {row.function_name: row.enabled for row in database.rows("select function_name, enabled from pgflow.worker_functions")}


def test_sequence_a_replaces_the_code_of_every_host_under_load(site, database):
    ran = site.folder / "ran"
    site.begin(ROUTED, ["routed_v1"])
    load = Load(database, "routed", {"file": str(ran)})
    more(load)
    path = site.sequence_a("A", ROUTED, ["routed_v1_patched"])
    site.hooks(path)

    done = site.run(path)
    more(load)
    load.stop()

    assert done.returncode == 0, done.stdout + done.stderr
    assert site.carried() == {function: build_ids("routed_v1_patched") for function in ROUTED}
    assert load.refusals == []
    wait_all(database, load.runs)
    assert_ran_once(database, ran)
    assert is_done(site, path)
    database.audit()


def test_sequence_b_switches_drains_and_retires_the_old_version_and_its_hosts(site, database):
    ran = site.folder / "ran"
    site.begin(OLD_STAGED, ["staged_v1"])
    load = Load(database, "staged", {"file": str(ran)})
    more(load)
    path = site.sequence_b("B", OLD_STAGED, "staged_v1", NEW_STAGED, ["staged_v2"])
    site.hooks(path)

    done = site.run(path, "--yes")
    more(load)
    load.stop()

    assert done.returncode == 0, done.stdout + done.stderr
    assert active(database, "staged") == "staged_v2"
    assert database.value("select retired_at is not null from pgflow.flows where flow_slug = 'staged_v1'")
    assert enabled(database) == {**dict.fromkeys(OLD_STAGED, False), **dict.fromkeys(NEW_STAGED, True)}
    assert {function: site.hook("status", function) for function in OLD_STAGED} == dict.fromkeys(OLD_STAGED, "stopped")
    assert sorted(site.carried()) == sorted(NEW_STAGED)
    assert load.refusals == []
    wait_all(database, load.runs)
    assert flows_of(database, load.runs) == {"staged_v1", "staged_v2"}
    assert_ran_once(database, ran)
    assert_wholly_one_version(database)
    assert is_done(site, path)
    database.audit()


def test_retired_functions_without_hooks_are_the_operators_to_stop(site, database):
    site.begin(OLD_STAGED, ["staged_v1"])
    path = site.sequence_b("B", OLD_STAGED, "staged_v1", NEW_STAGED, ["staged_v2"])
    hooks = site.hooks(path)
    commands = json.loads(hooks.read_text())
    hooks.write_text(json.dumps({**commands, "functions": {function: commands["functions"]["*"] for function in NEW_STAGED}}))
    stubborn = site.stand_by("old-first", "staged_v1__first", "staged_v1")

    driver = site.start_driver(path, "--yes")
    driver.output.wait_text('stop the supervisor of function "old-first", which is retired: no hooks file names it')
    retired = database.value("select retired_at is not null from pgflow.flows where flow_slug = 'staged_v1'")
    stubborn()

    assert driver.wait() == 0, driver.said()
    assert retired


def test_shared_queues_go_from_v1_to_both_and_to_v2_alone_with_one_command(site, database):
    ran = site.folder / "ran"
    site.begin(ROUTED, ["routed_v1"])
    load = Load(database, "routed", {"file": str(ran)})
    more(load)
    both = site.sequence_a("both", ROUTED, ["routed_v1", "routed_v2"])
    for function in ROUTED:
        (site.folder / f"{function}.conf.next").replace(site.folder / f"{function}.conf.both")
    alone = site.sequence_a("alone", ROUTED, ["routed_v2"])
    site.hooks(alone)
    site.hooks(both, start=site.start_hook("both"))

    done = site.run(both, "--yes", "--then", alone)
    more(load)
    load.stop()

    assert done.returncode == 0, done.stdout + done.stderr
    assert active(database, "routed") == "routed_v2"
    assert database.value("select retired_at is not null from pgflow.flows where flow_slug = 'routed_v1'")
    assert site.carried() == {function: build_ids("routed_v2") for function in ROUTED}
    assert load.refusals == []
    wait_all(database, load.runs)
    assert flows_of(database, load.runs) == {"routed_v1", "routed_v2"}
    assert_ran_once(database, ran)
    assert_wholly_one_version(database)
    assert is_done(site, alone)
    database.audit()


# Steps whose lines do not depend on how fast a host ends or starts.
STEADY = ("load ", "fence ", "apply ", "switch ", "retire ", "Safe: ", "Mend it", "restored", "pgflowctl: ")


def steady(said):
    """The steady lines, without what differs between two runs: which function it was, and build-ids."""
    lines = [line for line in said.splitlines() if line.startswith(STEADY)]
    return [re.sub(r'function "(audit|report)"', "function", line) for line in lines]


def assert_page_shows(said, title):
    """The guide's session has the same steady lines, in the same order."""
    page = (SOURCE / "docs" / "operations" / "rollout.md").read_text()
    session = page.split(f"<!-- driver: {title} -->\n```\n")[1].split("\n```\n")[0]
    assert steady(session) == steady(said)


AUDIT = {"audit": "license_audit", "report": "license_report"}


def audits(site):
    """V1 of the example at work under load."""
    site.begin(AUDIT, ["license_audit_v1"])
    load = Load(site.database, "license_audit", {"limit": 5, "report": str(site.folder / "report.md")}, pause=0.2)
    more(load, 3)
    return load


def shown(site, *results):
    """What was printed, without this test's folder."""
    return "".join(one.stdout + one.stderr for one in results).replace(f"{site.folder}/", "")


def test_version_1_of_the_example_gives_way_to_version_2(site, database):
    load = audits(site)
    both = site.sequence_a("both", AUDIT, ["license_audit_v1", "license_audit_v2"])
    for function in AUDIT:
        (site.folder / f"{function}.conf.next").replace(site.folder / f"{function}.conf.both")
    alone = site.sequence_a("alone", AUDIT, ["license_audit_v2"])
    site.hooks(alone)
    site.hooks(both, start=site.start_hook("both"))

    done = site.run(both, "--yes", "--then", alone)
    more(load, 3)
    load.stop()

    assert done.returncode == 0, done.stdout + done.stderr
    assert load.refusals == []
    wait_all(database, load.runs)
    assert flows_of(database, load.runs[-3:]) == {"license_audit_v2"}
    assert_page_shows(shown(site, done), "the example from version 1 to version 2")


def test_broken_version_2_of_the_example_serves_nothing_and_is_aborted(site, database):
    load = audits(site)
    broken = site.folder / "license_audit_v2.so"
    broken.write_bytes(module("license_audit_v2").read_bytes()[:20000])
    broken.chmod(0o755)
    path = site.sequence_a("both", AUDIT, ["license_audit_v1", "license_audit_v2"])
    site.next_release(AUDIT, ["license_audit_v1", broken])
    site.hooks(path)
    before = {function: (site.folder / f"{function}.conf").read_text() for function in AUDIT}

    stopped = site.run(path)
    for function, text in before.items():
        (site.folder / f"{function}.conf").write_text(text)
    back = site.ctl("rollout", path, "abort")
    for function in AUDIT:
        site.hook("start", function)
    more(load, 3)
    load.stop()

    assert (stopped.returncode, back.returncode) == (1, 0), stopped.stdout + back.stderr
    assert load.refusals == []
    wait_all(database, load.runs)
    assert flows_of(database, load.runs) == {"license_audit_v1"}
    assert_page_shows(shown(site, stopped, back), "a version 2 that does not load")
    database.audit()
