"""Connections that are reset, slow, or carry nothing."""

import time

from .base import Fault, some_proxied_host

PATIENCE_S = 120.0


class Reset(Fault):
    name = "reset"
    what = "every connection of a host is reset"

    def plan(self, random):
        return {"host": some_proxied_host(random), "times": random.randint(1, 5)}

    def inject(self, world, host, times):
        for _ in range(times):
            world.slots[host].proxy.reset()
            time.sleep(0.3)
        world.note_healed("reset: next task of the host", world.slots[host])


class Delay(Fault):
    name = "delay"
    what = "every packet of a host takes 50 to 300 ms longer"

    def plan(self, random):
        return {"host": some_proxied_host(random), "delay": random.uniform(0.05, 0.3)}

    def inject(self, world, host, delay):
        world.slots[host].proxy.delay(delay)
        time.sleep(4)
        world.slots[host].proxy.delay(0.0)


class BlackHole(Fault):
    name = "black_hole"
    what = "nothing of a host's connections arrives for a while, then all of it, late"

    def plan(self, random):
        return {"host": some_proxied_host(random), "seconds": random.uniform(2, 6)}

    def inject(self, world, host, seconds):
        world.slots[host].proxy.swallow_all(True)
        time.sleep(seconds)
        world.slots[host].proxy.swallow_all(False)
        world.note_healed("black hole: next task of the host", world.slots[host])


class WorkBlackHole(Fault):
    """Heartbeats go on meanwhile. The host must drop the connection by its own deadline."""

    name = "work_black_hole"
    what = "the work connection alone carries nothing until the host gives it up"
    background = True
    quick = False

    def plan(self, random):
        return {"host": some_proxied_host(random)}

    def inject(self, world, host):
        slot = world.slots[host]
        program = slot.program
        link = self._swallow(slot.proxy)
        if link is None:
            return
        after, freezes, frozen = program.log.position(), slot.freezes, slot.frozen
        try:
            program.log.wait("db_lost", after=after, patience=PATIENCE_S)
        except AssertionError:
            if program.running() and not frozen and slot.freezes == freezes:
                world.findings.append(f"{slot.name} kept a work connection that carried nothing for {PATIENCE_S:.0f} s")
        link.swallowed = False
        world.note_healed("work connection black-holed: next task of the host", slot)

    @staticmethod
    def _swallow(proxy):
        """Other faults may have taken the connection just now; it comes back."""
        for _ in range(600):
            link = proxy.swallow_work()
            if link is not None:
                return link
            time.sleep(0.1)
        return None
