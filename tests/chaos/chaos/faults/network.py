"""Connections that are reset, slow, or carry nothing."""

import time

from .base import Fault, some_proxied_host


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
        world.slots[host].proxy.heal()


class BlackHole(Fault):
    name = "black_hole"
    what = "nothing of a host's connections arrives for a while, then all of it, late"

    def plan(self, random):
        return {"host": some_proxied_host(random), "seconds": random.uniform(2, 6)}

    def inject(self, world, host, seconds):
        world.slots[host].proxy.swallow("all")
        time.sleep(seconds)
        world.slots[host].proxy.heal()
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
        after = program.log.position()
        slot.proxy.swallow("work")
        try:
            program.log.wait("db_lost", after=after, patience=120)
        except AssertionError:
            if program is slot.program:
                world.findings.append(f"{slot.name} kept a work connection that carried nothing for 120 s")
        slot.proxy.heal()
        world.note_healed("work connection black-holed: next task of the host", slot)
