"""pgflowctl rollout M run, killed at random moments and started again: the outcome is that of an undisturbed run.

PGFLOW_DRIVER_KILLS=1000 PGFLOW_DRIVER_SEED=7 is the long form; a failure names the seed and the rollout."""

import collections
import os
import random

from lib.database import Database
from lib.fleet import assert_ran_once, assert_wholly_one_version, more
from lib.paths import PATIENCE
from lib.rollout import Load, wait_all
from lib.site import Site

KILLS = int(os.environ.get("PGFLOW_DRIVER_KILLS", "24"))
SEED = int(os.environ.get("PGFLOW_DRIVER_SEED", "1"))
ROUTED = {"main": "routed_main", "mail": "routed_mail"}
OLD_STAGED = {"old-first": "staged_v1__first", "old-second": "staged_v1__second"}
NEW_STAGED = {"new-first": "staged_v2__first", "new-second": "staged_v2__second", "new-third": "staged_v2__third"}


def sequence_a(site):
    site.begin(ROUTED, ["routed_v1"])
    path = site.sequence_a("A", ROUTED, ["routed_v1_patched"])
    site.hooks(path)
    return "routed", [path]


def sequence_b(site):
    site.begin(OLD_STAGED, ["staged_v1"])
    path = site.sequence_b("B", OLD_STAGED, "staged_v1", NEW_STAGED, ["staged_v2"])
    site.hooks(path)
    return "staged", [path]


def shared(site):
    site.begin(ROUTED, ["routed_v1"])
    both = site.sequence_a("both", ROUTED, ["routed_v1", "routed_v2"])
    for function in ROUTED:
        (site.folder / f"{function}.conf.next").replace(site.folder / f"{function}.conf.both")
    alone = site.sequence_a("alone", ROUTED, ["routed_v2"])
    site.hooks(alone)
    site.hooks(both, start=site.start_hook("both"))
    return "routed", [both, "--then", alone]


SEQUENCES = [sequence_a, sequence_b, shared]


def drive(site, arguments, kills, rng):
    """Runs drivers until one is through; the others are killed. Gives how many were killed."""
    killed = 0
    while True:
        driver = site.start_driver(*arguments, "--yes", "--timeout", "120")
        # Most lives are too short for a step with hooks; a long one now and then brings it on.
        longest = 1.5 if rng.random() < 0.05 else rng.choice([0.06, 0.12, 0.25, 0.5])
        life = PATIENCE * 4 if killed >= kills else rng.uniform(0.02, longest)
        try:
            status = driver.wait(life)
        except AssertionError:
            assert killed < kills, f"still not through:\n{driver.said()}\n{driver.output.tail()}"
            driver.kill()
            killed += 1
            continue
        assert status == 0, f"after {killed} kills:\n{driver.output.tail()}\n{driver.said()}"
        return killed


def outcome(site):
    """What a rollout leaves behind, but for times and ids."""
    database = site.database
    told = {
        "functions": database.rows("select function_name, enabled, paused_at is null as is_well from pgflow.worker_functions order by 1"),
        "pins": database.rows("select function_name, deployment, module_sets, unpinned_at is null as in_force"
                              " from pgflow.function_pins where ended_at is null order by 1"),
        "switches": database.rows("select from_flow_slug, to_flow_slug, forced from pgflow.alias_switches order by switch_id"),
        "flows": database.rows("select flow_slug, retired_at is not null as is_retired from pgflow.flows order by 1"),
        "manifests": database.rows("select deployment, manifest, fenced_at is not null as is_fenced, applied_at > fenced_at as is_applied,"
                                   " closed_at is null as is_open from pgflow.deployment_manifest order by 1"),
        "working": database.rows("select function_name, count(*) from pgflow.workers where stopped_at is null and deprecated_at is null"
                                 " and last_heartbeat_at > clock_timestamp() - interval '15 s' and not standby group by 1 order by 1"),
    }
    return {**{name: [tuple(row) for row in rows] for name, rows in told.items()},
            "carried": site.carried(),
            "processes": {function: site.hosts_of(function) for function in site.queues}}


def roll_out(folder, sequence, kills, rng):
    database = Database()
    folder.mkdir(parents=True)
    site = Site(database, folder)
    try:
        flow, arguments = sequence(site)
        load = Load(database, flow, {"file": str(folder / "ran")}, pause=0.1)
        more(load, 3)
        killed = drive(site, arguments, kills, rng)
        more(load, 3)
        load.stop()
        assert load.refusals == []
        wait_all(database, load.runs)
        assert_ran_once(database, folder / "ran")
        assert_wholly_one_version(database)
        database.audit()
        return killed, outcome(site)
    finally:
        site.end()
        database.close()


def test_drivers_that_are_killed_at_random_moments_leave_what_an_undisturbed_one_leaves(template, tmp_path):
    rng = random.Random(SEED)
    undisturbed = {one: roll_out(tmp_path / f"{one.__name__}-undisturbed", one, 0, rng)[1] for one in SEQUENCES}
    killed = collections.Counter()
    rollouts = 0

    while sum(killed.values()) < KILLS:
        sequence = SEQUENCES[rollouts % len(SEQUENCES)]
        left = KILLS - sum(killed.values())
        kills = min(left, -(-KILLS // len(SEQUENCES)), 60)
        more_killed, left_behind = roll_out(tmp_path / f"{sequence.__name__}-{rollouts}", sequence, kills, rng)
        killed[sequence.__name__] += more_killed
        rollouts += 1
        assert left_behind == undisturbed[sequence], f"seed {SEED}, rollout {rollouts} of {sequence.__name__}"

    print(f"\n{sum(killed.values())} kills in {rollouts} rollouts: {dict(killed)}")
    assert sum(killed.values()) >= KILLS
