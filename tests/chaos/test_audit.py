"""The audit finds what it is there to find: each test spoils one thing in a sound database."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

# pylint: disable=wrong-import-position
from chaos import audit  # noqa: E402
from chaos.world import World  # noqa: E402


@pytest.fixture(scope="module")
def world():
    os.umask(0o022)
    made = World(seed=1, runs_a_second=20, quick=True)
    try:
        made.set_up()
        for flow in ("orders_v1", "orders_v2", "tally_v1", "tally_v2"):
            made.load.start_run(flow)
        assert made.settle(120)
        made.supervisor.stop()
        yield made
    finally:
        made.close()


@pytest.fixture
def spoil(world):
    """Runs statements past foreign keys and triggers; afterwards all is as it was."""
    ledger = world.ledger.read_text()
    world.asker.rows("begin")
    world.asker.rows("set local session_replication_role = replica")
    yield world.asker.rows
    world.asker.rows("rollback")
    world.ledger.write_text(ledger)


def found(world, *words, causes=()):
    findings = audit.findings(world, causes)
    assert any(all(word in finding for word in words) for finding in findings), findings


A_RUN = "(select run_id from pgflow.runs where flow_slug = 'orders_v1')"


def test_sound_database_has_no_finding(world):
    assert audit.findings(world, ()) == []


def test_lost_run_is_found(world, spoil):
    spoil(f"delete from pgflow.runs where run_id = {A_RUN}")

    found(world, "acknowledged and is gone")


def test_run_that_nobody_asked_for_is_found(world, spoil):
    spoil("update pgflow.runs set input = input || '{\"n\": 99999}' where flow_slug = 'tally_v1'")

    found(world, "never asked for")


def test_run_without_an_end_is_found(world, spoil):
    spoil(f"update pgflow.runs set status = 'started', completed_at = null, output = null where run_id = {A_RUN}")

    found(world, "is started")


def test_wrong_output_is_found(world, spoil):
    spoil(f"update pgflow.runs set output = '{{}}' where run_id = {A_RUN}")

    found(world, "wrong output")


def test_message_that_is_left_is_found(world, spoil):
    spoil("insert into pgmq.q_chaos_main (vt, message) values (now(), '{}')")

    found(world, "1 messages are left on q_chaos_main")


def test_unexplained_attempt_is_found(world, spoil):
    spoil("update pgflow.step_tasks set attempts_count = 2, claim_no = 2 where step_slug = 'deliver'")

    found(world, "unexplained")


def test_handler_that_ran_too_often_is_found(world, spoil):
    world.ledger.write_text(world.ledger.read_text() + world.ledger.read_text().splitlines()[0] + "\n")

    found(world, "ended 2 times in 1 attempts")


def test_completed_task_that_never_ran_is_found(world, spoil):
    world.ledger.write_text("\n".join(world.ledger.read_text().splitlines()[1:]) + "\n")

    found(world, "never came to its end")


def test_illegal_state_is_found(world, spoil):
    spoil(
        "update pgflow.step_tasks set status = 'queued', started_at = null, completed_at = null, output = null"
        " where step_slug = 'prepare'"
    )

    found(world, "a live task has its message on its queue")


def test_same_seed_gives_the_same_schedule_and_another_one_does_not():
    from itertools import islice

    from chaos import schedule

    def first(seed):
        return [(fault.name, given, pause) for _, fault, given, pause in islice(schedule.make(seed, [], False), 60)]

    assert first(7) == first(7)
    assert first(7) != first(8)


def test_list_names_every_fault():
    listed = subprocess.run([HERE / "run", "--list"], check=True, capture_output=True, text=True).stdout

    from chaos import faults

    assert [line.split()[0] for line in listed.splitlines()] == [fault.name for fault in faults.ALL]
