"""pgflowctl rollout M run: the sequences driven to their end, with real hosts that hooks stop and start."""

import pytest

from lib.fleet import active, assert_ran_once, assert_wholly_one_version, flows_of, more
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
