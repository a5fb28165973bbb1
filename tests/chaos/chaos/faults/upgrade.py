"""The schema goes back to version 1 and up again, with hosts of release 0.1.0 at work, and beside those of this one."""

import contextlib
import subprocess
import time
import types

from lib.killer import Killer
from lib.paths import CTL, SOURCE
from lib.programs import environment
from lib.releases import ServerLog, build

from ..load import QUEUES
from ..world import DATABASE
from .base import Fault

RELEASE = "0.1.0"
# A host that was killed counts as alive for half a minute, a frozen one goes on once it is thawed.
PATIENCE_S = 240.0
SERVED = 15
# Classes that a host takes for the item's own fault, and what a dropped function gives.
BAD_CLASSES = ("22", "0A", "P0", "XX", "42")


class Upgrade(Fault):
    name = "upgrade"
    what = f"back to the schema of release {RELEASE}, its hosts alone; a killed upgrade, a whole one; hosts of both releases"

    def plan(self, random):
        return {"statement": random.randint(1, 20), "before": random.random() < 0.5}

    def why_not(self, world):
        made = build(RELEASE)
        return None if made.returncode == 0 else made.stderr.strip()

    def inject(self, world, statement, before):
        program = build(RELEASE).stdout.strip() + "/bin/pgflow-host"
        new = world.slots[: 2 * len(QUEUES)]
        log = ServerLog(DATABASE)
        with contextlib.ExitStack() as ending:
            old = [world.make_slot(f"{RELEASE}/{queue}", queue, "direct", program=program) for queue in QUEUES]
            for slot in old:
                world.supervisor.add(slot)
                ending.callback(world.supervisor.remove, slot)
            for slot in old:
                slot.wait_ready(1)
            self._back(world, new)
            self._served(world, old)
            self._up(world, statement, before)
            self._served(world, old)
            for slot in new:
                slot.resume()
            for slot in new:
                slot.wait_ready(len(slot.programs))
            self._served(world, old)
            self._served(world, new)
        world.note_recovery("upgrade: longest wait of a host for a lock", log.longest_wait_ms() / 1000)
        world.findings += [f"{program} met {state}: {text}" for state, program, text in log.errors()
                           if state.startswith(BAD_CLASSES)]

    @staticmethod
    def _back(world, new):
        for slot in new:
            slot.pause()
        end = time.monotonic() + PATIENCE_S
        while (done := migrate(world.url, "--down")).returncode != 0:
            if time.monotonic() > end:
                raise AssertionError(f"no way back: {done.stderr}")
            time.sleep(1)

    @staticmethod
    def _up(world, statement, before):
        killer = Killer(types.SimpleNamespace(url=world.url), statement, before)
        migrate(killer.url)
        killer.close()
        done = migrate(world.url)
        if done.returncode != 0:
            raise AssertionError(f"no upgrade: {done.stderr}")

    @staticmethod
    def _served(world, slots):
        """Until these hosts have ended so many tasks that were started from now on."""
        now = world.asker.value("select clock_timestamp()")
        workers = [worker for slot in slots if (worker := slot.worker_id())]
        if not world.asker.until(
            "select count(*) >= %s from pgflow.step_tasks where status = 'completed' and started_at > %s"
            " and last_worker_id = any (%s::uuid[])", SERVED, now, workers,
        ):
            raise AssertionError(f"{slots[0].name} and its like did nothing")


def migrate(url, *options):
    return subprocess.run([CTL, "migrate", *options], env=environment(PGFLOW_DATABASE=url), capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S, cwd=SOURCE)
