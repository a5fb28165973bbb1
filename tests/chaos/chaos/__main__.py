"""One run of the suite: set up, load, faults by schedule, settle, audit, report."""

import argparse
import os
import pathlib
import random
import signal
import sys
import threading
import time

from . import audit, faults, report, schedule
from .world import World

QUICK_SECONDS = 60
FULL_SECONDS = 480
SETTLE_S = 300.0
GRANDCHILDREN_S = 60.0


def parse(arguments):
    names = [fault.name for fault in faults.ALL]
    parser = argparse.ArgumentParser(prog="tests/chaos/run", description="Faults under load, then an audit.")
    parser.add_argument("--quick", action="store_true", help="one round of the short form")
    parser.add_argument("--seed", type=int, help="the schedule of an earlier run")
    parser.add_argument("--seconds", type=float, help="begin no fault after so long (whole rounds otherwise)")
    parser.add_argument("--rounds", type=int, help="rounds of faults (1 with --quick or --fault)")
    parser.add_argument("--fault", action="append", default=[], choices=names, metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--rate", type=float, default=8, help="runs started a second (8)")
    parser.add_argument("--list", action="store_true", help="list the faults")
    given = parser.parse_args(arguments)
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1_000_000)
    if given.rounds is None and (given.quick or given.fault) and given.seconds is None:
        given.rounds = 1
    if given.seconds is None:
        given.seconds = FULL_SECONDS
    return given


def list_faults():
    for fault in faults.ALL:
        print(f"{fault.name:<20} {'' if fault.quick else '[long form] '}{fault.what}")


class Storm:
    """Injects by schedule; the background ones in threads of their own."""

    def __init__(self, world, given):
        self.injections = report.Injections()
        self._world = world
        self._given = given
        self._began = time.monotonic()
        self._background = []

    def say(self, text):
        print(f"{time.monotonic() - self._began:7.1f}s  {text}", flush=True)

    def run(self):
        given = self._given
        for number, fault, parameters, pause in schedule.make(given.seed, given.fault, given.quick):
            elapsed = time.monotonic() - self._began
            if elapsed > given.seconds or (given.rounds and number > given.rounds):
                break
            time.sleep(pause)
            self._one(fault, parameters)
        for thread in self._background:
            thread.join()

    def _one(self, fault, parameters):
        why_not = fault.why_not(self._world)
        if why_not:
            if fault.name not in self.injections.not_run:
                self.say(f"{fault.name}: not run: {why_not}")
            self.injections.not_run[fault.name] = why_not
            return
        self.injections.count[fault.name] += 1
        self._world.causes.update(fault.causes)
        self.say(f"{fault.name} {' '.join(f'{key}={value}' for key, value in parameters.items())}")
        if fault.background:
            thread = threading.Thread(target=self._inject, args=(fault, parameters), daemon=True)
            thread.start()
            self._background.append(thread)
        else:
            self._inject(fault, parameters)

    def _inject(self, fault, parameters):
        try:
            fault.inject(self._world, **parameters)
        except Exception as error:  # pylint: disable=broad-except
            self._world.findings.append(f"{fault.name} could not be injected or healed: {error!r}")


def leftovers(folder):
    """Processes that came from this run and stay; what handlers left in sessions of their own goes by itself."""
    end = time.monotonic() + GRANDCHILDREN_S
    while found := processes_of(folder):
        if time.monotonic() > end:
            return found
        time.sleep(0.1)
    return []


def processes_of(folder):
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in command:
            found.append(f"a process is left: {entry.parent.name} {command[:200]!r}")
    return found


def run(given):
    world = World(given.seed, given.rate, given.quick)
    try:
        world.set_up()
        world.load.start()
        storm = Storm(world, given)
        storm.run()
        storm.say("no more faults and no more runs; waiting for those that are there")
        world.load.stop()
        if not world.settle(SETTLE_S):
            world.findings.append(f"runs are open {SETTLE_S:.0f} s after the last fault")
        stop_seconds = world.supervisor.stop()
        storm.say("stopped")
        found = audit.findings(world, world.causes) + leftovers(str(world.folder))
        report.show(world, storm.injections, found, stop_seconds)
    finally:
        world.close()
    return found


def main():
    given = parse(sys.argv[1:])
    if given.list:
        list_faults()
        return 0
    # A TERM (an interrupted check) must run the clean-up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"chaos: seed {given.seed} (again: tests/chaos/run --seed {given.seed}{' --quick' if given.quick else ''})", flush=True)
    return 1 if run(given) else 0


if __name__ == "__main__":
    sys.exit(main())
