"""A clock of day that jumps."""

import datetime
import signal
import time

from ..world import FAKETIME
from .base import Fault


PATIENCE_S = 120.0
# Between a line of a log and its reading, on a machine that is busy; steps are mostly hours.
SLACK_S = 150.0


class ClockSteps(Fault):
    name = "clock_steps"
    what = "the hosts' time of day jumps by up to a day, forth and back"

    def plan(self, random):
        return {"steps": [random.randint(-86400, 86400) for _ in range(3)]}

    def why_not(self, world):
        return None if FAKETIME else "libfaketime is not installed, or the build has a sanitizer"

    def inject(self, world, steps):
        for step in [*steps, 0]:
            world.clock_file.write_text(f"{step:+d}\n")
            self._check(world, step)

    @staticmethod
    def _check(world, step):
        """Every host says what time it is; one that is frozen does not hear the question."""
        for slot in world.slots:
            program = slot.program
            if slot.frozen or not program.log.find("ready"):
                continue
            after, freezes = program.log.position(), slot.freezes
            program.signal(signal.SIGUSR1)
            try:
                said = program.log.wait("state", after=after, patience=PATIENCE_S)["ts"]
            except AssertionError:
                if program.running() and slot.freezes == freezes:
                    world.findings.append(f"{slot.name} does not answer SIGUSR1 after a step of its clock")
                continue
            off = datetime.datetime.fromisoformat(said.replace("Z", "+00:00")).timestamp() - time.time() - step
            if abs(off) > SLACK_S:
                world.findings.append(f"the clock of {slot.name} was to be {step} s off, and is {off + step:.0f} s off")
