"""Hosts under a simple supervisor: whatever ends one, it is started again."""

import contextlib
import signal
import threading
import time

from lib import programs
from lib.paths import HOST

RESTART_PAUSE_S = 0.2
PATIENCE_S = 120.0
PIPE_SIZE = 1 << 20


class Slot:
    """One place of a host: its options, and the programs that ran there one after the other."""

    def __init__(self, name, arguments, environment, folder):
        self.name = name
        self.queue = arguments[arguments.index("--queue") + 1]
        self.proxy = None
        self.programs = []
        self.expected = {}  # pid: exit statuses that a fault brought about
        self.start_may_end_with = ()
        self.frozen = False
        self.freezes = 0
        self.problems = []
        self._arguments = arguments
        self._environment = environment
        self._folder = folder
        self._stopping = threading.Event()
        self._paused = threading.Event()
        self._started = threading.Condition()
        # A program dies with the thread that started it, so the thread stays.
        self._thread = threading.Thread(target=self._supervise, daemon=True)

    @property
    def program(self):
        return self.programs[-1]

    def start(self):
        self._thread.start()

    def _supervise(self):
        while not self._stopping.is_set():
            program = programs.Program([*self._arguments], programs.environment(**self._environment), self._folder)
            program.log.make_room(PIPE_SIZE)
            with self._started:
                self.expect(program, *self.start_may_end_with)
                self.programs.append(program)
                self._started.notify_all()
            while program.running():
                time.sleep(0.02)
            self._note_end(program)
            self._stopping.wait(RESTART_PAUSE_S)
            while self._paused.is_set() and not self._stopping.is_set():
                self._stopping.wait(RESTART_PAUSE_S)

    def _note_end(self, program):
        status = program.wait()
        allowed = self.expected.get(program.pid, set()) | ({0} if self._stopping.is_set() else set())
        if status not in allowed:
            self.problems.append(f"{self.name} ended with {status}:\n" + program.log.tail(5))

    def expect(self, program, *statuses):
        """A fault is about to end this program with one of these."""
        self.expected.setdefault(program.pid, set()).update(statuses)

    def wait_ready(self, count, patience=PATIENCE_S):
        """Wait until the program number `count` (from 1) claims."""
        with self._started:
            if not self._started.wait_for(lambda: len(self.programs) >= count, patience):
                raise AssertionError(f"{self.name} was not started again")
        self.programs[count - 1].log.wait("ready", patience=patience)

    def worker_id(self):
        """The row of the program that runs, or None before it has one."""
        ready = self.program.log.find("ready")
        return ready[-1].get("worker") if ready else None

    def pause(self):
        """End the program by SIGTERM, and start none until resume()."""
        end = time.monotonic() + PATIENCE_S
        while self.frozen and time.monotonic() < end:
            time.sleep(0.1)
        self._paused.set()
        # One that was just starting when the pause began ends like the others.
        while self.program.running():
            self.expect(self.program, 0)
            self.program.signal(signal.SIGTERM)
            self.program.wait(PATIENCE_S)

    def resume(self):
        with self._started:
            count = len(self.programs)
            self._paused.clear()
            if not self._started.wait_for(lambda: len(self.programs) > count, PATIENCE_S):
                raise AssertionError(f"{self.name} was not started again")

    def begin_stop(self):
        self._stopping.set()
        if self.program.running():
            self.program.signal(signal.SIGCONT)
            self.program.signal(signal.SIGTERM)

    def finish_stop(self):
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self.problems.append(f"{self.name} did not stop within {PATIENCE_S:.0f} s:\n" + self.program.log.tail(20))
            self.program.kill()

    def kill(self):
        self._stopping.set()
        if self.programs:
            self.program.kill()


class Supervisor:
    def __init__(self):
        self.slots = []

    def add(self, slot):
        self.slots.append(slot)
        slot.start()
        return slot

    def wait_ready(self):
        for slot in self.slots:
            slot.wait_ready(1)

    @contextlib.contextmanager
    def starts_may_fail(self, *statuses):
        """What starts now, or has not come to claim yet, may end with one of these."""
        for slot in self.slots:
            slot.start_may_end_with = statuses
            if slot.programs and not slot.program.log.find("ready"):
                slot.expect(slot.program, *statuses)
        try:
            yield
        finally:
            for slot in self.slots:
                slot.start_may_end_with = ()

    def remove(self, slot):
        """End a host that was there for one fault; its place and its log stay for the audit."""
        slot.begin_stop()
        slot.finish_stop()

    def stop(self):
        """SIGTERM to all at once; gives how long the slowest took."""
        began = time.monotonic()
        for slot in self.slots:
            slot.begin_stop()
        for slot in self.slots:
            slot.finish_stop()
        return time.monotonic() - began

    def kill(self):
        runners = [pid for slot in self.slots if slot.programs for pid in slot.program.children()]
        for slot in self.slots:
            slot.kill()
        for pid in runners:
            programs.wait_gone(pid)

    def logs(self):
        return [program.log for slot in self.slots for program in slot.programs]

    def problems(self):
        return [problem for slot in self.slots for problem in slot.problems]


def host_arguments(queue, plugins, *options, program=HOST):
    arguments = [program, "--queue", queue, "--log-format", "json"]
    for plugin in plugins:
        arguments += ["--plugin", plugin]
    return [*arguments, *options]
