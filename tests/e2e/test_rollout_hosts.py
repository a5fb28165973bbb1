"""Hosts that do not belong together on a queue: the guard, leases, lost answers, starts before every worker is up."""

import json
import signal
import uuid
from types import SimpleNamespace

import pytest

from lib import rollout
from lib.paths import PATIENCE, module
from lib.programs import run_ctl, run_host
from lib.proxy import Proxy
from lib.rollout import ran, wait_all

MAIN, MAIL = "routed_main", "routed_mail"
FUNCTION = f"pgflow-host/{MAIN}"
BOTH = ["routed_v1", "routed_v2"]
MANUAL = ("--activate", "manual")


@pytest.fixture
def compiled(database, tmp_path):
    """V1 and V2 are in the database, V1 is active, and no host runs."""
    plugins = [part for name in BOTH for part in ("--plugin", module(name))]
    result = run_host(
        "--queue", MAIN, *plugins, *MANUAL, "--once", "--module-dir", tmp_path / "copies",
        env={"PGFLOW_DATABASE": database.url},
    )
    assert result.returncode == 0, result.stderr
    return database


@pytest.fixture
def proxy(database, tmp_path):
    made = Proxy(database, tmp_path)
    yield made
    made.close()


def start_runs(database, run_input, **counts):
    """Start runs of concrete flows in one transaction: {flow: how many}. Gives their ids."""
    rows = database.rows(
        "select run_id::text from jsonb_each_text(%s::jsonb) as wanted (flow, count),"
        " pgflow.start_flows(wanted.flow, array_fill(%s::jsonb, array[wanted.count::int])) as run_id",
        json.dumps(counts), json.dumps(run_input),
    )
    return [row.run_id for row in rows]


def function(database, name=FUNCTION):
    return database.row("select * from pgflow.worker_functions where function_name = %s", name)


def nothing_was_burnt(database, count):
    """The guard's mark on a batch: all queued and uncounted, all visible, none archived."""
    tasks = database.rows("select status, attempts_count, claim_no from pgflow.step_tasks")
    assert [tuple(task) for task in tasks] == [("queued", 0, 0)] * count
    messages = database.row("select count(*), bool_and(vt <= clock_timestamp()) as visible from pgmq.q_routed_main")
    assert (messages.count, messages.visible) == (count, True)
    assert database.value("select count(*) from pgmq.a_routed_main") == 0


def each_ran_once(path, database, runs):
    tasks = database.row("select count(*), max(attempts_count) from pgflow.step_tasks where run_id = any (%s::uuid[])", runs)
    assert tasks.max == 1
    counted = ran(path)
    assert (len(counted), set(counted.values())) == (tasks.count, {1})


def test_batch_of_ten_with_unsupported_work_burns_nothing_and_runs_once_after_the_repair(compiled, hosts, tmp_path):
    database, path = compiled, tmp_path / "ran"
    alone = hosts.start(queue=MAIN, plugins=["routed_v1"])

    runs = start_runs(database, {"file": str(path), "secret": "body"}, routed_v1=5, routed_v2=5)

    assert alone.wait() == 78
    fatal = [record for record in alone.log.records if record["level"] == "fatal"]
    assert [record["event"] for record in fatal] == ["unsupported"]
    assert len(fatal[0]["msg_ids"].split()) == 5 and "secret" not in alone.said()
    nothing_was_burnt(database, 10)
    again = hosts.start(queue=MAIN, plugins=["routed_v1"], wait=False)
    again.log.wait("standby")
    nothing_was_burnt(database, 10)
    again.stop()

    guide = rollout.operator(database)
    guide.run("enable", function=FUNCTION)
    for queue in (MAIN, MAIL):
        hosts.start(queue=queue, plugins=BOTH)

    wait_all(database, runs)
    each_ran_once(path, database, runs)
    database.audit()


def test_three_good_hosts_do_the_work_of_which_one_stray_cannot_do_any(compiled, hosts, tmp_path):
    database, path = compiled, tmp_path / "ran"
    leftover = hosts.start("--function", "main", queue=MAIN, plugins=["routed_v1"])
    for _ in range(3):
        hosts.start("--function", "main", "--concurrency", "1", *MANUAL, queue=MAIN, plugins=BOTH)
    hosts.start(*MANUAL, queue=MAIL, plugins=BOTH)

    runs = start_runs(database, {"ms": 50, "file": str(path)}, routed_v2=10)

    assert leftover.wait() == 78
    wait_all(database, runs)
    each_ran_once(path, database, runs)
    paused = function(database, "main")
    assert not paused.enabled and paused.paused_at is not None
    assert database.value("select count(*) from pgflow.workers where function_name = 'main' and stopped_at is null") == 3
    database.audit()


def test_old_host_left_running_is_found_from_its_log_line_and_from_the_pause(compiled, hosts):
    database = compiled
    old = hosts.start(queue=MAIN, plugins=["routed_v1"])
    build_id = rollout.build_ids("routed_v1")[0]

    start_runs(database, {}, routed_v2=1)
    assert old.wait() == 78

    line = old.log.find("unsupported")[0]
    assert (line["pid"], line["modules"]) == (old.pid, f"routed_v1={build_id}")
    guide = rollout.operator(database)
    found = guide.run("find_worker", worker=line["worker"])[0]
    paused = guide.run("pauses")[0]
    for row in (found, paused):
        assert (row["host"], row["pid"]) == (line["host"], str(old.pid))
        assert [one["buildId"] for one in json.loads(row["modules"])] == [build_id]
    assert paused["worker_id"] == line["worker"]


def test_old_host_that_restarts_alone_after_the_switch_fails_loudly_and_takes_nothing_back(compiled, hosts):
    database = compiled
    for queue in (MAIN, MAIL):
        hosts.start(queue=queue, plugins=BOTH)
    database.rows("select pgflow.activate_flow('routed', 'routed_v2')")

    alone = hosts.start("--function", "old", queue=MAIN, plugins=["routed_v1"], wait=False)

    assert alone.wait() == 78
    for word in ("routed_v2.prepare", "routed_v2.work", "active", "--plugin"):
        assert word in alone.said()
    assert database.value("select active_flow_slug from pgflow.flow_aliases where alias = 'routed'") == "routed_v2"
    assert database.value("select count(*) from pgflow.workers where function_name = 'old' and not standby") == 0


def test_old_host_on_its_private_queues_serves_old_runs_and_takes_no_new_ones_back(database, hosts):
    old = {queue: hosts.start(queue=queue, plugins=["staged_v1"]) for queue in ("staged_v1__first", "staged_v1__second")}
    run = database.start_flow("staged", {"ms": 1000})
    for queue in ("staged_v2__first", "staged_v2__second", "staged_v2__third"):
        hosts.start(*MANUAL, queue=queue, plugins=["staged_v2"])
    database.rows("select pgflow.activate_flow('staged', 'staged_v2')")

    old["staged_v1__second"].stop()
    restarted = hosts.start("--activate", "auto", queue="staged_v1__second", plugins=["staged_v1"])

    assert restarted.log.wait("activation_superseded", flow="staged_v1")
    assert database.value("select active_flow_slug from pgflow.flow_aliases where alias = 'staged'") == "staged_v2"
    late = database.start_flow("staged")
    wait_all(database, [run, late])
    assert [database.run(each).flow_slug for each in (run, late)] == ["staged_v1", "staged_v2"]


def started(database, run):
    """The started task of a run; waits for it."""
    query = "from pgflow.step_tasks where run_id = %s and status = 'started'"
    database.until(f"select count(*) = 1 {query}", run)
    return database.row(f"select * {query}", run)


def message(database, task):
    return database.row("select *, vt <= clock_timestamp() as visible from pgmq.q_routed_main where msg_id = %s", task.message_id)


@pytest.fixture
def busy(compiled, hosts):
    """A host with both versions whose one slot is taken, and a suspended one with V1 alone: (task, the latter)."""
    good = hosts.start("--function", "good", "--concurrency", "1", *MANUAL, queue=MAIN, plugins=BOTH)
    alone = hosts.start(queue=MAIN, plugins=["routed_v1"])
    alone.signal(signal.SIGSTOP)
    run = start_runs(compiled, {"ms": 600000}, routed_v2=1)[0]
    task = started(compiled, run)
    assert good.running()
    return task, alone


def test_message_that_another_host_has_leased_keeps_its_lease_through_a_guard(compiled, busy):
    task, alone = busy
    before = message(compiled, task)
    start_runs(compiled, {}, routed_v2=2)

    alone.signal(signal.SIGCONT)

    assert alone.wait() == 78
    assert (message(compiled, task), compiled.task(task.run_id, "prepare")) == (before, task)


def test_started_message_that_is_visible_trips_no_guard_and_waits_for_its_recovery(compiled, busy):
    task, alone = busy
    compiled.rows("select pgmq.set_vt(%s, %s, 0)", MAIN, task.message_id)

    alone.signal(signal.SIGCONT)
    compiled.until("select vt > clock_timestamp() from pgmq.q_routed_main where msg_id = %s", task.message_id)

    serves_v1(compiled, alone)
    assert message(compiled, task).vt == task.recover_at
    assert compiled.task(task.run_id, "prepare") == task
    assert function(compiled).enabled


def test_foreign_message_trips_no_guard_and_stays(compiled, busy):
    _, alone = busy
    foreign = compiled.value("select pgmq.send(%s, '{\"somebody\": \"else\"}')", MAIN)

    alone.signal(signal.SIGCONT)

    assert str(foreign) in json.dumps(alone.log.wait("foreign_messages"))
    serves_v1(compiled, alone)
    assert not message(compiled, SimpleNamespace(message_id=foreign)).visible
    assert compiled.value("select count(*) from pgmq.a_routed_main where msg_id = %s", foreign) == 0
    assert function(compiled).enabled


def serves_v1(database, host):
    run = start_runs(database, {}, routed_v1=1)[0]
    database.until("select count(*) = 2 from pgflow.step_tasks where run_id = %s and status = 'completed'", run)
    assert host.running() and host.log.find("unsupported") == []


def test_batch_that_a_host_has_partly_read_again_is_reset_but_for_the_leases_of_that_host(compiled, hosts):
    database, leftover = compiled, str(uuid.uuid4())
    pairs = '{"(routed_v1,prepare)","(routed_v1,work)"}'
    database.rows("select pgflow.register_worker(%s, %s, 'leftover', %s::pgflow.task_pair[])", leftover, MAIN, pairs)
    runs = start_runs(database, {"ms": 600000}, routed_v2=4)
    batch = database.rows("select msg_id, read_ct from pgmq.read(%s, 0, 10)", MAIN)
    hosts.start("--concurrency", "2", *MANUAL, queue=MAIN, plugins=BOTH)
    database.until("select count(*) = 2 from pgflow.step_tasks where status = 'started'")
    leases = "select msg_id, vt, read_ct from pgmq.q_routed_main where vt > clock_timestamp() order by 1"
    before = database.rows(leases)

    rows = database.rows(
        "select outcome, count(*) from pgflow.claim_tasks(%s, %s, %s, %s::pgflow.task_pair[], %s) group by 1 order by 1",
        MAIN, [row.msg_id for row in batch], leftover, pairs, [row.read_ct for row in batch],
    )

    assert [tuple(row) for row in rows] == [("busy", 2), ("unsupported", 2)]
    assert len(runs) == 4 and len(before) == 2 and database.rows(leases) == before
    assert function(database, "leftover").paused_at is not None and function(database).enabled


def test_guard_whose_answer_was_lost_has_paused_once_and_burnt_nothing(compiled, hosts, proxy, tmp_path):
    database, path = compiled, tmp_path / "ran"
    alone = hosts.start(queue=MAIN, plugins=["routed_v1"], env={"PGFLOW_DATABASE": proxy.url})
    proxy.lose("read_and_claim_tasks", "unsupported")

    runs = start_runs(database, {"file": str(path)}, routed_v1=2, routed_v2=3)
    assert proxy.lost.wait(PATIENCE)
    paused = function(database)
    why = alone.log.wait("disabled")

    assert "routed_v2" in why["pause_reason"] and "pgflowctl functions enable" in why["msg"]
    assert paused.paused_at is not None and function(database) == paused
    assert alone.log.find("unsupported") == []
    nothing_was_burnt(database, 5)
    alone.stop()
    database.rows("select pgflow.enable_worker_function(%s)", FUNCTION)
    for queue in (MAIN, MAIL):
        hosts.start(queue=queue, plugins=BOTH)
    wait_all(database, runs)
    each_ran_once(path, database, runs)


def test_claim_whose_answer_was_lost_is_given_back_uncounted_after_the_reconnect(database, hosts, proxy, tmp_path):
    path = tmp_path / "ran"
    host = hosts.start(queue="chain", plugins=["chain"], env={"PGFLOW_DATABASE": proxy.url})
    proxy.lose("read_and_claim_tasks", "started")

    runs = start_runs(database, {"file": str(path)}, chain=4)

    assert host.log.wait("claims_given_back")["count"] == 4
    wait_all(database, runs)
    each_ran_once(path, database, runs)
    assert database.value("select min(claim_no) from pgflow.step_tasks where step_slug = 'first'") > 1
    database.audit()


def test_forced_switch_lets_tasks_wait_for_the_queues_whose_workers_come_later(database, hosts):
    queues = [f"staged_v2__{step}" for step in ("first", "second", "third")]
    for queue in ("staged_v1__first", "staged_v1__second"):
        hosts.start(queue=queue, plugins=["staged_v1"])
    hosts.start(queue=queues[0], plugins=["staged_v2"])

    env = {"PGFLOW_DATABASE": database.url}
    refused = run_ctl("activate", "staged", "staged_v2", env=env)
    forced = run_ctl("activate", "staged", "staged_v2", "--force", env=env)

    assert refused.returncode == 1 and queues[1] in refused.stderr, refused.stderr
    assert forced.returncode == 0, forced.stderr
    run = database.start_flow("staged")
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and step_slug = 'second'", run)
    assert (database.task(run, "second").status, database.task(run, "second").attempts_count) == ("queued", 0)
    for queue in queues[1:]:
        hosts.start(queue=queue, plugins=["staged_v2"])
    wait_all(database, [run])
    assert database.value("select sum(attempts_count) from pgflow.step_tasks where run_id = %s", run) == 3
    assert database.value("select forced from pgflow.alias_switches where to_flow_slug = 'staged_v2'")
