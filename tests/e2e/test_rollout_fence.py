"""Sequences A and B with real hosts under load: supervisors that restart at once, suspended processes, retirement."""

import signal

import psycopg2
import pytest

from lib.paths import PATIENCE
from lib.programs import wait_until
from lib.rollout import Load, Refused, Supervisor, build_ids, entry, flows_of_runs, install, manifest, operator, ran, wait_all

OLD, NEW = "routed_v1", "routed_v1_patched"
QUEUES = {"main": "routed_main", "mail": "routed_mail"}


def worker_of(database, program):
    """The id of the latest row of a host."""
    return database.value(
        "select worker_id::text from pgflow.workers where (info ->> 'pid')::int = %s order by started_at desc limit 1",
        program.pid,
    )


def carried(database, load, count=10):
    """Wait until so many runs more have completed, whoever served them."""
    query = "select count(*) from pgflow.runs where status = 'completed'"
    goal = database.value(query) + count
    wait_until(lambda: database.value(query) >= goal)
    assert load.refusals == []


def nobody_lost_or_repeated(database, load, path):
    wait_all(database, load.runs)
    assert load.refusals == []
    tasks = database.row("select count(*), max(attempts_count) from pgflow.step_tasks")
    counted = ran(path)
    assert (len(counted), set(counted.values()), tasks.max) == (tasks.count, {1}, 1)
    database.audit()


# Sequence A: one rollout, told once, looked at by several tests.


class Replacement:
    """V1 is replaced by other code of the same slug, as the guide says, under load.

    `main` and `mail` are supervised as they should be. `forgotten`, of the function main too, is not
    restarted with the new module. `frozen` is suspended from before the disable until after the enable, and
    `standing` is what the supervisor of `forgotten` brought back: suspended in stand-by until after the enable.
    """

    def __init__(self, database, hosts, folder):
        self.database, self.hosts = database, hosts
        self.module, self.path = folder / "routed.so", folder / "ran"
        self.guide = operator(database)
        self.supervisors = {}
        install(OLD, self.module)

    def host(self, function):
        return self.hosts.start("--function", function, queue=QUEUES[function], plugins=[str(self.module)], wait=False)

    def supervise(self, name, function):
        self.supervisors[name] = Supervisor(lambda: self.host(function))

    def begin(self):
        self.frozen = self.host("main")
        self.frozen.log.wait("ready")
        self.frozen.signal(signal.SIGSTOP)
        self.frozen_worker = worker_of(self.database, self.frozen)
        for name, function in {"main": "main", "forgotten": "main", "mail": "mail"}.items():
            self.supervise(name, function)
        for supervisor in self.supervisors.values():
            supervisor.nth(1).log.wait("ready")
        self.load = Load(self.database, "routed", {"ms": 20, "file": str(self.path)})
        carried(self.database, self.load)

    def fence(self):
        build_id = build_ids(NEW)
        self.guide.load(manifest("A", *(entry(name, "replace", True, build_id, queue=QUEUES[name]) for name in QUEUES)))
        self.guide.run("fence")
        self.guide.run("deprecate")
        # A deprecation waits for claims in flight: from here on no old process may claim.
        self.fenced_at = self.database.value("select clock_timestamp()")
        # What the clock would bring, without waiting for it: the suspended host counts as gone.
        self.database.rows(
            "update pgflow.workers set last_heartbeat_at = last_heartbeat_at - interval '30 s' where worker_id = %s",
            self.frozen_worker,
        )
        wait_until(lambda: self.guide.waits("wait") is None)
        for supervisor in self.supervisors.values():
            supervisor.nth(2).log.wait("standby")

    def deploy(self):
        install(NEW, self.module)
        for name in ("main", "mail"):
            self.supervisors[name].restart().log.wait("standby")
        self.standing = self.supervisors["forgotten"].nth(2)
        self.standing_worker = worker_of(self.database, self.standing)
        self.noted = self.guide.note("deploy")
        self.found = self.guide.run("find_worker", worker=self.standing_worker)
        self.standing.signal(signal.SIGSTOP)
        self.guide.run("apply")

    def finish(self):
        self.supervisors["main"].nth(3).log.wait("ready")
        self.supervisors["mail"].nth(3).log.wait("ready")
        carried(self.database, self.load)
        for program in (self.frozen, self.standing):
            program.signal(signal.SIGCONT)
        self.woken = self.frozen.wait()
        self.told = self.standing.log.wait("wrong_modules")
        self.standing_rows = self.database.rows(
            "select standby from pgflow.workers where (info ->> 'pid')::int = %s", self.standing.pid)
        self.supervisors["forgotten"].restart().log.wait("ready")
        carried(self.database, self.load)
        self.left = self.guide.now()
        self.covered = {row["queue_name"]: row["covered"] for row in self.guide.run("confirm_coverage")}
        self.load.stop()

    def end(self):
        for supervisor in self.supervisors.values():
            supervisor.end()


@pytest.fixture(scope="module")
def replaced(shared_database, shared_hosts, tmp_path_factory):
    rollout = Replacement(shared_database, shared_hosts, tmp_path_factory.mktemp("replacement"))
    try:
        rollout.begin()
        rollout.fence()
        rollout.deploy()
        rollout.finish()
        yield rollout
    finally:
        rollout.end()


def test_replacing_code_under_load_loses_and_repeats_nothing(replaced):
    nobody_lost_or_repeated(replaced.database, replaced.load, replaced.path)
    versions = replaced.database.rows("select distinct output ->> 'version' from pgflow.step_tasks order by 1")
    assert [row[0] for row in versions] == ["1.0.0", "1.0.1"]


def test_every_queue_is_confirmed_when_the_replacement_is_through(replaced):
    assert replaced.covered == {"routed_main": "t", "routed_mail": "t"}
    assert replaced.left is None


OLD_ROWS = "select * from pgflow.workers where info #>> '{modules,0,buildId}' = %s"


def test_old_code_that_is_started_again_behind_the_fence_only_stands_by(replaced):
    late = replaced.database.rows(f"{OLD_ROWS} and started_at > %s", build_ids(OLD)[0], replaced.fenced_at)

    assert len(late) >= len(replaced.supervisors)
    assert [row for row in late if not row.standby] == []


def test_no_old_process_claims_behind_the_fence(replaced):
    claims = replaced.database.rows(
        f"select started_at > %s as late, count(*) from pgflow.step_tasks"
        f" where last_worker_id in (select worker_id from ({OLD_ROWS}) old) group by 1",
        replaced.fenced_at, build_ids(OLD)[0],
    )

    assert [row.late for row in claims] == [False]


def test_old_process_that_was_forgotten_is_noted_and_found_from_the_note(replaced):
    assert f"wrong_modules: worker {replaced.standing_worker}" in replaced.noted
    assert [row["pid"] for row in replaced.found] == [str(replaced.standing.pid)]
    assert build_ids(OLD)[0] in replaced.found[0]["modules"]


def test_host_suspended_from_before_the_disable_until_after_the_enable_claims_nothing_when_it_wakes(replaced):
    claims = "select count(*) from pgflow.step_tasks where last_worker_id = %s"

    assert replaced.woken == 0
    assert replaced.database.value(claims, replaced.frozen_worker) == 0
    assert worker_of(replaced.database, replaced.frozen) == replaced.frozen_worker


def test_old_host_that_slept_in_stand_by_through_the_enable_never_works(replaced):
    assert build_ids(NEW)[0] in replaced.told["detail"]
    assert replaced.standing.log.find("ready") == []
    assert [row.standby for row in replaced.standing_rows] == [True]


def test_deprecating_without_disabling_lets_the_supervisor_bring_old_code_back(database, hosts):
    supervisor = Supervisor(lambda: hosts.start(queue="noop", plugins=["noop"], wait=False))
    try:
        supervisor.nth(1).log.wait("ready")

        database.rows("select pgflow.deprecate_workers(array['pgflow-host/noop'])")

        supervisor.nth(2).log.wait("ready")
        run = database.start_flow("noop")
        database.wait_run(run)
        assert str(database.task(run, "noop").last_worker_id) == worker_of(database, supervisor.nth(2))
    finally:
        supervisor.end()


# Sequence B.


def start_version(hosts, number, *steps):
    """One host a private queue of staged_v<number>, a function for each: {function: host}."""
    return {
        f"v{number}-{step}": hosts.start(
            "--function", f"v{number}-{step}", queue=f"staged_v{number}__{step}", plugins=[f"staged_v{number}"], wait=False)
        for step in steps
    }


def all_say(hosts, event):
    for host in hosts.values():
        host.log.wait(event)


def test_new_version_takes_over_under_load_and_the_old_one_is_retired(database, hosts, tmp_path):
    path, guide = tmp_path / "ran", operator(database)
    old = start_version(hosts, 1, "first", "second")
    all_say(old, "ready")
    load = Load(database, "staged", {"ms": 20, "file": str(path)})
    carried(database, load)

    guide.load(manifest("B", *(entry(name, "keep-draining", True, flow="staged_v1") for name in old),
                        *(entry(f"v2-{step}", "add", True, flow="staged_v2") for step in ("first", "second", "third"))))
    guide.run("fence")
    new = start_version(hosts, 2, "first", "second", "third")
    all_say(new, "standby")
    guide.run("apply")
    all_say(new, "ready")
    wait_until(lambda: guide.waits("confirm_coverage") is None)
    guide.run("switch", flow="staged_v2")
    wait_until(lambda: guide.waits("drain", flow="staged_v1") is None)
    carried(database, load)
    guide.load(manifest("B2", *(entry(name, "retire", False, flow="staged_v1") for name in old)))
    guide.run("fence")
    guide.run("apply")
    guide.run("deprecate_retired")
    guide.run("retire", flow="staged_v1")

    with pytest.raises(psycopg2.Error, match="staged_v1.*retired"):
        database.start_flow("staged_v1")
    carried(database, load)
    load.stop()
    nobody_lost_or_repeated(database, load, path)
    flows = flows_of_runs(path)
    assert set(flows) == set(load.runs)
    assert set(map(frozenset, flows.values())) == {frozenset({"staged_v1"}), frozenset({"staged_v2"})}
    # 69: it had stopped for the disable, and was deprecated before its row in stand-by was there.
    assert {host.wait() for host in old.values()} <= {0, 69}
    assert guide.now() is None


def test_start_that_races_a_retirement_is_served_or_refused_and_never_stranded(database, hosts):
    hosts.start(queue="noop", plugins=["noop"])
    loads = [Load(database, "noop", {}, pause=0.02) for _ in range(4)]
    wait_until(lambda: all(load.runs for load in loads))

    def retired():
        # Until there is a moment without a run, which a slow machine comes to only at a slower pace.
        for load in loads:
            load.pause = min(1.02 * load.pause, 1.0)
        return is_retired(database, "noop")

    wait_until(retired, patience=4 * PATIENCE)

    wait_until(lambda: all(len(load.refusals) >= 3 for load in loads))
    for load in loads:
        load.stop()
        assert all('flow "noop" is retired' in refusal for refusal in load.refusals), load.refusals
    runs = [run for load in loads for run in load.runs]
    wait_all(database, runs)
    assert database.value("select count(*) from pgflow.runs") == len(runs)


def is_retired(database, flow):
    try:
        return bool(database.rows("select pgflow.retire_flow(%s)", flow))
    except psycopg2.errors.ObjectNotInPrerequisiteState:
        return False
