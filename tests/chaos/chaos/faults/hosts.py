"""Hosts that die, freeze or are asked to stop under load."""

import signal
import time

from .base import Fault, some_host

FREEZE_PATIENCE_S = 150.0
PATIENCE_S = 120.0
TRIES = 20


class KillHost(Fault):
    name = "kill_host"
    what = "kill -9 of a host with tasks in hand"

    def plan(self, random):
        return {"host": some_host(random)}

    def inject(self, world, host):
        slot = world.slot(host)
        worker = world.fill(slot)
        count = len(slot.programs)
        slot.expect(slot.program, -signal.SIGKILL)
        killed = time.time()
        slot.program.signal(signal.SIGKILL)
        world.lost_claims.append(("tasks of a killed host completed", killed, world.claims_of(worker)))
        slot.wait_ready(count + 1)
        world.note_recovery("killed host: its successor claims", time.time() - killed)


class FreezeHost(Fault):
    name = "freeze_host"
    what = "SIGSTOP of a host past its lease, then SIGCONT"
    background = True

    def plan(self, random):
        return {"host": some_host(random)}

    def inject(self, world, host):
        slot = world.slots[host]
        # From here on the other faults leave it alone.
        slot.frozen = True
        slot.freezes += 1
        try:
            self._freeze(world, slot)
        finally:
            slot.frozen = False

    @staticmethod
    def _freeze(world, slot):
        for _ in range(TRIES):
            slot.wait_ready(len(slot.programs))
            worker = world.fill(slot)
            program = slot.program
            frozen = time.time()
            program.signal(signal.SIGSTOP)
            claims = world.claims_of(worker)
            if claims and worker == slot.worker_id():
                world.lost_claims.append(("tasks of a frozen host completed", frozen, claims))
                # The other hosts recover its tasks once their lease is over.
                world.asker.until(
                    "select count(*) = 0 from pgflow.step_tasks where status = 'started' and last_worker_id = %s",
                    worker, patience=FREEZE_PATIENCE_S,
                )
                program.signal(signal.SIGCONT)
                return
            # Fenced or started afresh by another fault just now.
            program.signal(signal.SIGCONT)
        world.findings.append(f"{slot.name} never had a task in hand to be frozen with")


class StopHost(Fault):
    name = "stop_host"
    what = "SIGTERM to a host with every slot busy and a full queue"

    def plan(self, random):
        return {"host": some_host(random), "twice": random.random() < 0.5}

    def inject(self, world, host, twice):
        slot = world.slot(host)
        program, count = slot.program, len(slot.programs)
        world.fill(slot)
        slot.expect(program, 0)
        began = time.time()
        program.signal(signal.SIGTERM)
        if twice:
            program.log.wait("stopping", patience=PATIENCE_S)
            program.signal(signal.SIGTERM)
        program.wait(PATIENCE_S)
        world.note_recovery(f"{'two SIGTERM' if twice else 'SIGTERM'} with all slots busy: exit", time.time() - began)
        slot.wait_ready(count + 1)
