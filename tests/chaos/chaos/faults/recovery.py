"""Recovery that meets trouble of its own."""

import signal

import psycopg2

from lib.paths import module

from .base import Fault

PATIENCE_S = 180.0


class StuckNeighbours(Fault):
    """Three tasks lost their hosts: one on a queue that was dropped, one in a run that is locked.

    The third must come back all the same, and the two others once their trouble is over.
    """

    name = "stuck_neighbours"
    what = "one queue is dropped and one run locked while a third task needs recovery"
    quick = False

    def inject(self, world):
        slots = [
            world.make_slot(f"doomed/{flow}", flow, "direct", plugins=[module(flow)]) for flow in ("chain", "faults")
        ]
        try:
            runs = self._start_tasks(world, slots)
            self._lose_hosts(world, slots)
            self._recover(world, runs)
            self._serve_again(world, runs)
        finally:
            for slot in slots:
                world.supervisor.remove(slot)
        for flow in ("chain", "faults"):
            world.asker.rows("select pgflow.delete_flow_and_data(%s)", flow)

    def _start_tasks(self, world, slots):
        for slot in slots:
            world.supervisor.add(slot)
        for slot in slots:
            slot.wait_ready(1)
        start = "select run_id::text from pgflow.start_flow(%s, %s::jsonb)"
        runs = {
            "dropped": world.asker.rows(start, "chain", '{"ms": 2000}')[0][0],
            "locked": world.asker.rows(start, "faults", '{"fault": "sleep", "ms": 2000}')[0][0],
            "free": world.asker.rows(start, "faults", '{"fault": "sleep", "ms": 2000}')[0][0],
        }
        if not self._is(world, "started", *runs.values()):
            raise RuntimeError("the tasks were not claimed")
        return runs

    @staticmethod
    def _is(world, status, *runs):
        """Wait until the one task of each run that is not skipped has this status."""
        return world.asker.until(
            "select count(*) = %s from pgflow.step_tasks where run_id = any (%s::uuid[]) and status = %s",
            len(runs), list(runs), status, patience=PATIENCE_S,
        )

    @staticmethod
    def _lose_hosts(world, slots):
        for slot in slots:
            slot.expect(slot.program, -signal.SIGKILL)
            slot.kill()

    def _recover(self, world, runs):
        connection = psycopg2.connect(world.url)
        try:
            with connection.cursor() as cursor:
                cursor.execute("select from pgflow.runs where run_id = %s for update", (runs["locked"],))
                cursor.execute("select from pgflow.step_tasks where run_id = %s for update", (runs["locked"],))
                world.asker.rows("select pgmq.drop_queue('chain')")
                # What the clock would bring; the locked one's deadline passes below, with the lock gone.
                world.asker.rows(
                    "update pgflow.step_tasks set recover_at = clock_timestamp() where run_id = any (%s::uuid[])",
                    [runs["dropped"], runs["free"]],
                )
                cursor.execute(
                    "update pgflow.step_tasks set recover_at = clock_timestamp() where run_id = %s", (runs["locked"],)
                )
                # By the maintenance of the other hosts.
                if not self._is(world, "queued", runs["free"]):
                    world.findings.append("a dropped queue and a locked run kept a third task from recovery")
            connection.commit()
        finally:
            connection.close()

    def _serve_again(self, world, runs):
        world.asker.rows("select pgmq.create('chain')")
        slots = [world.make_slot(f"healed/{flow}", flow, "direct", plugins=[module(flow)]) for flow in ("chain", "faults")]
        for slot in slots:
            world.supervisor.add(slot)
        try:
            ended = world.asker.until(
                "select count(*) = 3 from pgflow.runs where run_id = any (%s::uuid[]) and status = 'completed'",
                list(runs.values()), patience=PATIENCE_S,
            )
            if not ended:
                world.findings.append("tasks did not come back after their queue was there again and their run unlocked")
        finally:
            for slot in slots:
                world.supervisor.remove(slot)
