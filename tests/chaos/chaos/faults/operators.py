"""Operators who fence and replace workers while everything else goes on."""

import time

import psycopg2

from ..load import QUEUES
from .base import Fault, some_host

PATIENCE_S = 120.0


def hosts_of(world, queue):
    return [slot for slot in world.slots if slot.queue == queue and slot.program.running()]


class Fence(Fault):
    name = "fence"
    what = "the function of a queue is disabled until its hosts stand by, then enabled"

    def plan(self, random):
        return {"queue": random.choice(QUEUES)}

    def inject(self, world, queue):
        function = f"pgflow-host/{queue}"
        awake = [slot for slot in hosts_of(world, queue) if not slot.frozen]
        marks = [(slot, slot.program, slot.program.log.position()) for slot in awake]
        world.asker.rows("select pgflow.disable_worker_functions(array[%s])", function)
        try:
            for slot, program, after in marks:
                self._waits(world, slot, program, "standby", after)
        finally:
            world.asker.rows("select pgflow.enable_worker_function(%s)", function)
        enabled = time.time()
        for slot, program, after in marks:
            if self._waits(world, slot, program, "ready", after):
                world.note_recovery("function enabled again: a host claims", time.time() - enabled)

    @staticmethod
    def _waits(world, slot, program, event, after):
        """Wait for this event of a host; one that ends or is frozen meanwhile is excused."""
        try:
            program.log.wait(event, after=after, patience=PATIENCE_S)
        except AssertionError:
            if program.running() and not slot.frozen:
                world.findings.append(f"{slot.name} did not say {event} at its function's fence")
            return False
        return True


class Deprecate(Fault):
    name = "deprecate"
    what = "the workers of a queue are deprecated: they finish, end, and are started afresh"

    def plan(self, random):
        return {"queue": random.choice(QUEUES)}

    def inject(self, world, queue):
        awake = [(slot, len(slot.programs)) for slot in hosts_of(world, queue) if not slot.frozen]
        for slot in hosts_of(world, queue):
            slot.expect(slot.program, 0)
        world.asker.rows("select pgflow.deprecate_workers(array[%s])", f"pgflow-host/{queue}")
        for slot, count in awake:
            slot.wait_ready(count + 1)


class LockRun(Fault):
    """Their results wait for the end of the transaction; those of other runs must not wait with them."""

    name = "lock_run"
    what = "an open transaction keeps the run of a task in hand locked while its host has other work"
    OTHERS = 5

    def plan(self, random):
        return {"host": some_host(random)}

    def inject(self, world, host):
        slot = world.slot(host)
        worker = world.fill(slot)
        connection = psycopg2.connect(world.url)
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "select r.run_id from pgflow.runs r join pgflow.step_tasks t using (run_id)"
                    " where t.status = 'started' and t.last_worker_id = %s limit 1 for update of r", (worker,)
                )
                run = cursor.fetchone()
                cursor.execute("select clock_timestamp()")
                if run is not None:
                    self._others_go_on(world, slot, worker, run[0], cursor.fetchone()[0])
        finally:
            connection.close()

    def _others_go_on(self, world, slot, worker, run, since):
        if not world.asker.until(
            "select count(*) >= %s from pgflow.step_tasks"
            " where last_worker_id = %s and run_id <> %s and completed_at > %s", self.OTHERS, worker, run, since,
        ) and slot.worker_id() == worker:
            world.findings.append(f"a locked run kept {slot.name} from the results of others")
