"""Handlers that misuse their process, on their first attempt."""

import os
import pathlib
import pwd
import time

from lib.paths import SANITIZED

from ..world import HANDLER_USER, PROCESS_LIMIT
from .base import Fault

RUNS = 4
PATIENCE_S = 60.0


class HandlerFault(Fault):
    fault = ""

    def inject(self, world):
        world.load.start_faulty(self.fault, RUNS)


class Memory(HandlerFault):
    name = "memory"
    what = "handlers that take all memory their limit allows"
    fault = "memory"
    causes = ("handler died: SIGABRT", "handler died: SIGSEGV", "handler died: SIGKILL")

    def why_not(self, world):
        return "runners of a sanitizer build have no memory limit" if SANITIZED else None


class Crash(HandlerFault):
    name = "crash"
    what = "handlers that abort"
    fault = "crash"
    causes = ("handler died: SIGABRT",)


class Flood(HandlerFault):
    name = "flood"
    what = "handlers that write 4 MiB to stderr"
    fault = "flood"


class Grandchildren(HandlerFault):
    name = "grandchildren"
    what = "handlers that leave orphans, one of them in a session of its own"
    fault = "grandchildren"


class ForkBomb(HandlerFault):
    name = "fork_bomb"
    what = "handlers that fork until the process limit of --handler-user"
    fault = "fork_bomb"

    def why_not(self, world):
        return None if os.geteuid() == 0 else "--handler-user, whose process limit stops it, needs root"

    def inject(self, world):
        """Its processes live for some seconds; there must be as many as the limit lets be. A host that another fault
        has frozen or killed may have claimed it first: then recovery brings it back, which takes most of the patience."""
        user = pwd.getpwnam(HANDLER_USER).pw_uid
        super().inject(world)
        end = time.monotonic() + 2 * PATIENCE_S
        while self._processes_of(user) < PROCESS_LIMIT * 9 // 10:
            if time.monotonic() > end:
                world.findings.append("no fork bomb went off")
                return
            time.sleep(0.05)

    @staticmethod
    def _processes_of(user):
        count = 0
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                count += folder.stat().st_uid == user
            except FileNotFoundError:
                continue
        return count
