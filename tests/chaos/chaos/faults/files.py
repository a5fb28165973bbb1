"""Module files that change below running hosts."""

import os
import shutil

from lib.paths import module

from .base import Fault, some_host
from .runners import KillRunners

# Wrong use (its queue is not there) or configuration.
BAD_MODULE = (64, 78)
NAMES = ("orders_v1", "orders_v2", "tally_v1", "tally_v2")


class ModuleFault(Fault):
    """The hosts go on with the bytes that they inspected; new runners prove it."""

    causes = KillRunners.causes

    def plan(self, random):
        return {"module": random.choice(NAMES), "host": some_host(random)}

    def inject(self, world, module, host):
        # A host that starts meanwhile finds a bad module, says so and ends.
        with world.supervisor.starts_may_fail(*BAD_MODULE):
            self.spoil(world.modules[module])
            try:
                KillRunners().inject(world, host)
                world.load.start_faulty("none", 2)
            finally:
                self.restore(world.modules[module])

    def spoil(self, path):
        raise NotImplementedError

    @staticmethod
    def restore(path):
        fresh = path.with_suffix(".fresh")
        shutil.copy(module(path.stem), fresh)
        os.replace(fresh, path)


class Overwrite(ModuleFault):
    name = "module_overwritten"
    what = "a module file is overwritten in place with nonsense, and its runners are killed"

    def spoil(self, path):
        with open(path, "r+b") as file:
            file.write(b"\0" * path.stat().st_size)


class Replace(ModuleFault):
    name = "module_replaced"
    what = "a module file is replaced by another one, and its runners are killed"

    def spoil(self, path):
        other = path.with_suffix(".other")
        shutil.copy(module("noop"), other)
        os.replace(other, path)
