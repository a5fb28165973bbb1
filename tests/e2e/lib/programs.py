"""Start the programs as a user would, in an environment of our own."""

import contextlib
import os
import signal
import subprocess
import time

from .logs import Log
from .paths import COVERAGE, CTL, HOST, PATIENCE, VALGRIND, module

KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
VALGRIND_COMMAND = (
    "valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"
    " --track-fds=no --child-silent-after-fork=yes"
).split()


def environment(**more):
    """Nothing of the caller's PG* and PGFLOW_* reaches a program unless given."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, **{name: str(value) for name, value in more.items()}}


class Program:
    """A running program with its log; it never outlives the test."""

    def __init__(self, arguments, env, folder):
        command = [str(argument) for argument in arguments]
        if VALGRIND:
            command = VALGRIND_COMMAND + command
        # The program dies with this process, also when that is killed.
        command = ["setpriv", "--pdeathsig", "KILL"] + command
        self._process = subprocess.Popen(
            command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.pid = self._process.pid
        self.log = Log(self._process.stderr)
        self.output = Log(self._process.stdout)

    def running(self):
        return self._process.poll() is None

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, patience=PATIENCE):
        """The exit status; a signal's number is negative."""
        try:
            status = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {patience:.0f} s:\n{self.log.tail()}") from None
        self.log.join()
        self.output.join()
        return status

    def stop(self):
        """A graceful stop, which must end with status 0."""
        self.signal(signal.SIGTERM)
        status = self.wait()
        assert status == 0, f"exit status {status} at SIGTERM:\n{self.log.tail()}"

    def kill(self):
        if self.running():
            self.signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait(PATIENCE)

    def end_with_counters(self):
        """Before the kill at the end of a test, which would leave no coverage; two signals end a host at once."""
        if not COVERAGE or not self.running():
            return
        for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGINT):
            self.signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)

    def children(self):
        """Pids of its children, as the kernel lists them."""
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as listed:
                return [int(pid) for pid in listed.read().split()]
        except FileNotFoundError:
            return []

    def said(self):
        return "\n".join(self.log.text)


class Hosts:
    """Starts pgflow-hosts on one database and ends what is left of them."""

    def __init__(self, database, folder, program=HOST):
        self._database = database
        self._folder = folder
        self._program = program
        self._started = []

    def start(self, *options, queue=None, plugins=(), env=None, log_format="json", wait=True, wrapper=()):
        """Start a host, by way of the command `wrapper`; `wait` waits until it claims."""
        arguments = [*wrapper, self._program, "--log-format", log_format, "--module-dir", self._folder / "module-copies"]
        if queue is not None:
            arguments += ["--queue", queue]
        for name in plugins:
            arguments += ["--plugin", name if os.sep in str(name) else module(name)]
        given = {"PGFLOW_DATABASE": self._database.url} if self._database else {}
        program = Program([*arguments, *options], environment(**{**given, **(env or {})}), self._folder)
        self._started.append(program)
        if wait:
            wait_ready(program)
        return program

    def end(self):
        """Kill what still runs, and wait until their runners are gone too."""
        runners = [pid for program in self._started for pid in program.children()]
        for program in self._started:
            program.end_with_counters()
            program.kill()
        for pid in runners:
            wait_gone(pid)


def wait_ready(program):
    program.log.wait("ready")


def wait_gone(pid, patience=PATIENCE):
    """Wait for the end of a process that is not our child."""
    try:
        handle = os.pidfd_open(pid)
    except (ProcessLookupError, AttributeError):
        return
    import select

    readable, _, _ = select.select([handle], [], [], patience)
    os.close(handle)
    assert readable, f"process {pid} is still there"


def run_host(*options, env=None, patience=PATIENCE, folder=None):
    """Run a pgflow-host to its end; gives status, output and error text."""
    return run([HOST, *options], env, patience, folder)


def run_ctl(*options, env=None, patience=PATIENCE, folder=None):
    return run([CTL, *options], env, patience, folder)


def run(command, env, patience, folder):
    command = (VALGRIND_COMMAND if VALGRIND else []) + [str(part) for part in command]
    return subprocess.run(
        command,
        env=environment(**(env or {})),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=patience,
        check=False,
    )


def status_of(pid):
    """What /proc says of a process, by name."""
    with open(f"/proc/{pid}/status", encoding="ascii") as listed:
        return dict(line.rstrip("\n").split(":\t", 1) for line in listed if ":\t" in line)


def wait_until(question, patience=PATIENCE):
    """Ask until the answer is true: for what the kernel does not announce."""
    end = time.monotonic() + patience
    while not question():
        assert time.monotonic() < end, f"not so after {patience:.0f} s"
        time.sleep(0.02)
