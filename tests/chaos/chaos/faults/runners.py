"""Runners that are killed from outside."""

import os
import signal

from .base import Fault, some_host


class KillRunners(Fault):
    name = "kill_runners"
    what = "kill -9 of every runner of a host, busy and idle"
    causes = ("handler died: SIGKILL",)

    def plan(self, random):
        return {"host": some_host(random)}

    def inject(self, world, host):
        slot = world.slot(host)
        world.fill(slot)
        for runner in slot.program.children():
            try:
                os.kill(runner, signal.SIGKILL)
            except ProcessLookupError:
                continue
