"""A clock of day that jumps."""

import time

from ..world import FAKETIME
from .base import Fault


class ClockSteps(Fault):
    name = "clock_steps"
    what = "the hosts' time of day jumps by up to a day, forth and back"

    def plan(self, random):
        return {"steps": [random.randint(-86400, 86400) for _ in range(3)]}

    def why_not(self, world):
        return None if FAKETIME else "libfaketime is not installed (Debian: libfaketime)"

    def inject(self, world, steps):
        for step in [*steps, 0]:
            world.clock_file.write_text(f"{step:+d}\n")
            time.sleep(0.7)
