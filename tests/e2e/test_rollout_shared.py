"""Versions that share queues: V1, then both, then V2, and back, with real hosts under load."""

import signal
import threading
import time

import psycopg2
import pytest

from lib.fleet import (
    Fleet, active, assert_ran_once, assert_wholly_one_version, ctl, flows_of, more, until_active)
from lib.paths import module
from lib.programs import run_host, wait_until
from lib.rollout import Load, operator, wait_all

MAIN, MAIL = QUEUES = "routed_main", "routed_mail"
V1, V2, V3 = "routed_v1", "routed_v2", "routed_v3"
# Hosts that switch by themselves: they log in as the superuser, who is an operator too.
AUTO = ("--activate", "auto")


class Sessions:
    """Sessions that all begin at once, each to call one statement so many times."""

    def __init__(self, database, count, times, statement, *parameters):
        self._call = database.url, times, statement, parameters
        self._begin = threading.Barrier(count)
        self.refusals = []
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _work(self):
        url, times, statement, parameters = self._call
        connection = psycopg2.connect(url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            self._begin.wait()
            for _ in range(times):
                try:
                    cursor.execute(statement, parameters)
                except psycopg2.Error as error:
                    self.refusals.append(str(error))
        connection.close()

    def running(self):
        return any(thread.is_alive() for thread in self._threads)


@pytest.fixture(scope="module")
def both(shared_database, shared_hosts):
    """A database whose two queues are served by hosts with V1 and V2; operators switch."""
    Fleet(shared_hosts, QUEUES, ["--activate", "manual"]).start([V1, V2])
    return shared_database


def test_shared_queues_go_from_v1_to_both_and_back_and_to_v2_alone_under_load(database, hosts, tmp_path):
    guide, fleet, ran = operator(database), Fleet(hosts, QUEUES), tmp_path / "ran"
    fleet.start([V1])
    load = Load(database, "routed", {"file": str(ran)})
    more(load)

    fleet.replace(guide, "both", [V1, V2])
    more(load)
    assert active(database, "routed") == V1 and guide.now()[0] == "switch"
    guide.run("switch", flow=V2)
    at_v2 = len(load.runs)
    more(load)
    assert guide.now()[0] in ("drain", "retire")

    under_way = database.start_flow("routed", {"ms": 500, "file": str(ran)})
    back = ctl(database, "activate", "routed", V1)
    more(load, 2)
    at_v1_again = len(load.runs)
    more(load)
    again_by_v1 = load.runs[at_v1_again:]
    forth = ctl(database, "activate", "routed", V2)
    more(load, 2)

    drained = ctl(database, "drain", V1, "--wait")
    retired = ctl(database, "retire", V1)
    assert guide.now() is None
    fleet.replace(guide, "v2 alone", [V2])
    assert guide.now() is None
    more(load)
    load.stop()

    assert (back.returncode, forth.returncode, drained.returncode, retired.returncode) == (0, 0, 0, 0), (
        back.stderr + forth.stderr + drained.stderr + retired.stderr)
    assert load.refusals == []
    wait_all(database, [*load.runs, under_way])
    assert flows_of(database, [under_way]) == {V2}
    assert flows_of(database, load.runs[:10]) == {V1}
    assert flows_of(database, again_by_v1) == {V1}
    assert flows_of(database, load.runs[-10:]) == {V2}
    assert flows_of(database, load.runs[at_v2:at_v2 + 5]) == {V2}
    assert [row.to_flow_slug for row in database.rows("select to_flow_slug from pgflow.alias_switches order by switch_id")] == [
        V1, V2, V1, V2]
    assert_ran_once(database, ran)
    assert_wholly_one_version(database)
    database.audit()


def test_200_concurrent_starts_while_the_alias_flips_are_each_wholly_one_version(both):
    starts = Sessions(both, 20, 10, "select pgflow.start_flow('routed', '{}')")
    others = Sessions(both, 2, 20, "select pgflow.activate_flow('routed', %s)", V1)
    flips = 0
    while starts.running() or others.running():
        both.rows("select pgflow.activate_flow('routed', %s)", (V2, V1)[flips % 2])
        flips += 1

    assert starts.refusals == others.refusals == []
    assert flips > 10
    runs = [row.run_id for row in both.rows("select run_id::text from pgflow.runs")]
    assert len(runs) == 200
    wait_all(both, runs)
    assert flows_of(both, runs) == {V1, V2}
    steps = both.rows(
        "select flow_slug, array_agg(step_slug order by step_slug) as steps from pgflow.step_states"
        " group by run_id, flow_slug")
    expected = {V1: ["deliver", "prepare", "work"], V2: ["check", "deliver", "prepare", "work"]}
    assert len(steps) == 200 and all(row.steps == expected[row.flow_slug] for row in steps)
    assert_wholly_one_version(both)
    assert both.value("select max(attempts_count) from pgflow.step_tasks") == 1


def test_run_started_after_the_drain_check_blocks_the_retirement_until_it_is_served(both):
    both.rows("select pgflow.activate_flow('routed', %s)", V2)
    drained = ctl(both, "drain", V1, "--wait")
    late = both.start_flow(V1, {"ms": 400})

    refused = ctl(both, "retire", V1)
    both.wait_run(late)
    retired = ctl(both, "retire", V1)
    start = ctl(both, "start", V1)
    undone = ctl(both, "retire", V1, "--undo")

    assert drained.returncode == 0, drained.stdout + drained.stderr
    assert refused.returncode == 1 and "1 started run" in refused.stderr, refused.stderr
    assert retired.returncode == 0, retired.stderr
    assert start.returncode != 0 and "retired" in start.stderr, start.stderr
    assert undone.returncode == 0, undone.stderr


def test_host_without_a_version_is_refused_while_a_run_of_it_may_still_come_to_the_queue(database, hosts, tmp_path):
    main = hosts.start("--activate", "manual", queue=MAIN, plugins=[V1, V2])
    main.signal(signal.SIGSTOP)
    run = database.start_flow(V1)
    database.rows("select pgflow.activate_flow('routed', %s, force => true)", V2)
    assert database.value("select count(*) from pgflow.step_tasks where queue_name = %s", MAIL) == 0

    refused = run_host(
        "--queue", MAIL, "--plugin", module(V2), "--module-dir", tmp_path / "copies", env={"PGFLOW_DATABASE": database.url})
    main.signal(signal.SIGCONT)
    ctl(database, "cancel", run)
    hosts.start(queue=MAIL, plugins=[V2])

    assert refused.returncode == 78, refused.stderr
    for word in (V1, "deliver", "draining", "--plugin"):
        assert word in refused.stderr, refused.stderr
    database.wait_run(database.start_flow("routed"))


def test_version_that_was_skipped_takes_nothing_back_when_its_host_restarts(database, hosts):
    first = Fleet(hosts, QUEUES, ["--activate", "manual"])
    first.start([V1, V2])
    assert active(database, "routed") == V1
    first.stop()
    last = Fleet(hosts, QUEUES, AUTO)
    last.start([V1, V2, V3])
    until_active(database, "routed", V3)

    again = hosts.start(*AUTO, queue=MAIL, plugins=[V1, V3, V2])

    again.log.wait("activation_superseded", flow=V2)
    assert active(database, "routed") == V3
    assert [row.to_flow_slug for row in switches(database)] == [V1, V3]


def test_newest_version_wins_although_an_older_one_was_covered_first(database, hosts):
    main = hosts.start("--function", "main", *AUTO, queue=MAIN, plugins=[V1, V2])
    main.log.wait("activation_waits", flow=V2)
    hosts.start("--function", "mail", "--activate", "manual", queue=MAIL, plugins=[V1, V2, V3])
    until_active(database, "routed", V2)

    main.stop()
    hosts.start("--function", "main", *AUTO, queue=MAIN, plugins=[V1, V2, V3])

    until_active(database, "routed", V3)
    assert [row.to_flow_slug for row in switches(database)] == [V1, V2, V3]


def test_version_whose_init_fails_on_one_queue_waits_while_the_other_serves(database, hosts, tmp_path):
    moody = tmp_path / "moody"
    moody.write_text(V2)
    main = hosts.start(*AUTO, queue=MAIN, plugins=[V1, V2])
    mail = hosts.start(*AUTO, "--pass-env", "MOODY_FILE", queue=MAIL, plugins=[V1, V2], env={"MOODY_FILE": moody})

    mail.log.wait("module_held", flow=V2)
    main.log.wait("activation_waits", flow=V2)
    refused = ctl(database, "activate", "routed", V2)
    run = database.start_flow("routed")
    database.wait_run(run)
    moody.unlink()
    until_active(database, "routed", V2)
    after = database.start_flow("routed")

    assert refused.returncode == 1 and MAIL in refused.stderr and MAIN not in refused.stderr, refused.stderr
    database.wait_run(after)
    assert flows_of(database, [run]) == {V1} and flows_of(database, [after]) == {V2}


def test_module_that_is_broken_on_one_of_two_hosts_holds_up_no_task(database, hosts, tmp_path):
    moody, slots = tmp_path / "moody", 2
    moody.write_text(V2)
    hosts.start("--activate", "manual", queue=MAIL, plugins=[V1, V2])
    good = hosts.start("--activate", "manual", queue=MAIN, plugins=[V1, V2])
    sick = hosts.start(
        "--concurrency", slots, "--pass-env", "MOODY_FILE", queue=MAIN, plugins=[V1, V2], env={"MOODY_FILE": moody})
    sick.log.wait("module_held", flow=V2)

    # Alone for a moment, the sick host reads what it cannot run: at most its slots a second,
    # although it has seen enough short handlers to claim ahead of its slots.
    good.signal(signal.SIGSTOP)
    runs = [database.start_flow(V1) for _ in range(20)]
    wait_all(database, runs)
    began = time.monotonic()
    runs += [database.start_flow(V2) for _ in range(20)]
    database.until("select sum(read_ct) > %s from pgmq.q_routed_main", slots)
    hidden = database.value("select sum(read_ct) from pgmq.q_routed_main")
    assert hidden <= slots * (time.monotonic() - began + 1)
    good.signal(signal.SIGCONT)

    # What the clock would bring, without waiting for it: hidden messages come back.
    database.until(
        "with shown as (update pgmq.q_routed_main m set vt = clock_timestamp() from pgflow.step_tasks t"
        "  where t.message_id = m.msg_id and t.queue_name = 'routed_main' and t.status = 'queued'"
        "  and m.vt > clock_timestamp() + interval '5 s' returning 1)"
        " select count(*) = 0 from pgflow.runs where status = 'started'")
    wait_all(database, runs)
    assert database.value("select max(attempts_count) from pgflow.step_tasks") == 1
    ran_v2 = database.rows(
        "select distinct w.info ->> 'pid' as pid from pgflow.step_tasks t join pgflow.workers w on w.worker_id = t.last_worker_id"
        " where t.flow_slug = %s and t.queue_name = %s", V2, MAIN)
    assert [int(row.pid) for row in ran_v2] == [good.pid]


def switches(database):
    return database.rows("select to_flow_slug from pgflow.alias_switches order by switch_id")
