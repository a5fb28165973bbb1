"""A server that restarts, crashes, is away, or may not write."""

import os
import time

from .base import Fault


class Restart(Fault):
    name = "restart"
    what = "PostgreSQL is restarted"

    def inject(self, world):
        with world.server_lock:
            world.server("restart")
        world.note_healed("restart: next task completed")


class Crash(Fault):
    name = "server_crash"
    what = "PostgreSQL ends without a checkpoint and recovers"

    def inject(self, world):
        with world.server_lock:
            world.server("crash")
            world.server("start")
        world.note_healed("crash: next task completed")


class Absence(Fault):
    name = "absence"
    what = "PostgreSQL is away for 20 s; steps with a timeout of 3 s are in hand"
    quick = False

    def inject(self, world):
        with world.server_lock:
            world.server("stop")
            # The length of the absence is the fault itself.
            time.sleep(20)
            world.server("start")
        world.note_healed("20 s absence: next task completed")


class ReadOnly(Fault):
    name = "read_only"
    what = "the server refuses to write (25006), as a demoted primary does, then is writable again"

    def plan(self, random):
        return {"seconds": random.uniform(1, 4)}

    def inject(self, world, seconds):
        with world.server_lock:
            self._set(world, "on")
            time.sleep(seconds)
            self._set(world, "off")
        world.note_healed("read-only server: next task completed")

    @staticmethod
    def _set(world, value):
        world.asker.rows(f"alter system set default_transaction_read_only = {value}")
        world.asker.rows("select pg_reload_conf()")


class Reconnects(Fault):
    """Every descriptor of a connection must go with it."""

    name = "reconnects"
    what = "the connections of one host are ended 1,000 times (short form: 40)"
    quick_times = 40
    full_times = 1000
    application = "chaos-reconnects"

    def why_not(self, world):
        return None if os.geteuid() == 0 else "a host hides its descriptors from all but root"

    def inject(self, world):
        slot = world.make_slot("reconnecting", "chaos_main", "direct", url=f"{world.url}&application_name={self.application}")
        world.supervisor.add(slot)
        try:
            slot.wait_ready(1)
            self._reconnect(world, slot)
        finally:
            world.supervisor.remove(slot)

    def _reconnect(self, world, slot):
        program = slot.program
        before = self._descriptors(program)
        times = self.quick_times if world.quick else self.full_times
        done = 0
        while done < times and program.running():
            done += self._end_connections(world)
        world.note_healed("reconnects: next task of the host", slot)
        world.wait_busy(slot, patience=30.0)
        if not self._settles(program, before):
            world.findings.append(
                f"{slot.name}: {before} descriptors before {done} reconnects, {self._descriptors(program)} after"
            )

    def _end_connections(self, world):
        """Those that are there; a connection that is on its way comes next time."""
        time.sleep(0.02)
        return len(world.asker.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s", self.application
        ))

    def _settles(self, program, before):
        """A moment later; runners come and go, with a socket, two pipes and a page each."""
        for _ in range(600):
            if not program.running() or self._descriptors(program) <= before:
                return True
            time.sleep(0.1)
        return False

    @staticmethod
    def _descriptors(program):
        """All but those of the runners."""
        try:
            return len(os.listdir(f"/proc/{program.pid}/fd")) - 4 * len(program.children())
        except FileNotFoundError:
            return 0
