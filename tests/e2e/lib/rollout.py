"""What rollouts with real hosts need: an operator with the guide, a supervisor, load, and who ran what."""

import collections
import json
import os
import shutil
import sys
import threading

import psycopg2

from .database import administer
from .paths import PATIENCE, SOURCE, module
from .programs import run_ctl

sys.path.insert(0, str(SOURCE / "tests" / "support"))
import guide as guides  # noqa: E402
from guide import Refused, entry  # noqa: E402,F401  for the tests

OPERATOR = "rollout_operator"


def operator(database):
    """The guide's blocks on this database, run as a role that is an operator and nothing else."""
    administer(
        f"do $$ begin create role {OPERATOR} login in role pgflow_operator;"
        " exception when duplicate_object then null; end $$"
    )
    return guides.Guide(database.name, OPERATOR)


def manifest(name, *entries, **more):
    return {"deployment": name, "entries": list(entries), **more}


def build_ids(*names):
    """The build-ids of modules, as an operator asks for them."""
    shown = [json.loads(run_ctl("inspect", module(name), "--json").stdout) for name in names]
    return [one["buildId"] for one in shown]


def install(name, path):
    """Put a module in place of the one at `path`, whole or not at all, as a deployment does."""
    part = path.with_suffix(".part")
    shutil.copy(module(name), part)
    os.chmod(part, 0o755)
    os.replace(part, path)


class Supervisor:
    """Keeps one host running: starts it again the instant it ends, whatever its status.

    The thread lives as long as its program: a program dies with the thread that made it.
    """

    def __init__(self, start):
        self._start = start
        self._ended = False
        self._changed = threading.Condition()
        self.programs = []
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()

    def _supervise(self):
        while self._start_one():
            while self.programs[-1].running():
                try:
                    self.programs[-1].wait(1)
                except AssertionError:
                    continue

    def _start_one(self):
        with self._changed:
            if not self._ended:
                self.programs.append(self._start())
                self._changed.notify_all()
            return not self._ended

    def nth(self, number):
        """The host of the nth start, counted from 1; waits for that start."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.programs) >= number, PATIENCE), f"no start number {number}"
            return self.programs[number - 1]

    def current(self):
        with self._changed:
            return self.programs[-1]

    def restart(self):
        """Stop the host, as a deployment does; gives the one that comes next."""
        with self._changed:
            count = len(self.programs)
            self.programs[-1].stop()
        return self.nth(count + 1)

    def end(self):
        with self._changed:
            self._ended = True
            for program in self.programs:
                program.kill()
        self._thread.join(PATIENCE)


class Load:
    """Starts runs of a flow, one after the other, in a session of its own, until it is stopped."""

    def __init__(self, database, flow, run_input, pause=0.05):
        self.runs = []
        self.refusals = []
        self.pause = pause  # may be changed while it works
        self._work = (database.url, flow, json.dumps(run_input))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._start_runs, daemon=True)
        self._thread.start()

    def _start_runs(self):
        url, flow, run_input = self._work
        connection = psycopg2.connect(url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            while not self._stopped.wait(self.pause):
                try:
                    cursor.execute("select run_id::text from pgflow.start_flow(%s, %s)", (flow, run_input))
                    self.runs.append(cursor.fetchone()[0])
                except psycopg2.Error as error:
                    self.refusals.append(str(error))
        connection.close()

    def stop(self):
        self._stopped.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def wait_all(database, runs, patience=PATIENCE):
    """Wait until every run has ended; none may have ended in another way than completed."""
    database.until("select not exists (select from pgflow.runs where run_id = any (%s::uuid[]) and status = 'started')",
                   runs, patience=patience)
    states = database.rows("select status, count(*) from pgflow.runs where run_id = any (%s::uuid[]) group by 1", runs)
    assert {row.status: row.count for row in states} == {"completed": len(runs)}


def ran(path):
    """How often each task's handler ran: {(flow, step, run, task): times}."""
    lines = path.read_text().splitlines() if path.exists() else []
    return collections.Counter(tuple(line.split()[:4]) for line in lines)


def flows_of_runs(path):
    """The concrete flows whose handlers worked for a run: {run: {flow, …}}."""
    flows = collections.defaultdict(set)
    for flow, _, run, _ in ran(path):
        flows[run].add(flow)
    return flows


class Stubborn:
    """An old host under a supervisor that always restarts, as Kubernetes does: killed again and again, whatever it
    does, and started again at once with the old module. What it logged is kept."""

    def __init__(self, start):
        self.supervisor = Supervisor(start)

    def churn(self, event, times=3):
        """Wait until it stands by for this reason, kill it, and so on; it is left standing by."""
        for _ in range(times):
            host = self._standing(event)
            count = len(self.supervisor.programs)
            host.kill()
            self.supervisor.nth(count + 1)
        self._standing(event)

    def _standing(self, event):
        """The host that stands by for this reason, after those that a deprecation ended."""
        while True:
            count = len(self.supervisor.programs)
            host = self.supervisor.nth(count)
            try:
                host.log.wait(event)
                host.log.wait("standby")
                return host
            except AssertionError:
                if host.running() and not host.log.find("stopped"):  # it says so, and ends a moment later
                    raise
                self.supervisor.nth(count + 1)

    def pids(self):
        return [program.pid for program in self.supervisor.programs]

    def was_ready_after(self, number):
        """Whether a start after the nth one served."""
        return any(program.log.find("ready") for program in self.supervisor.programs[number:])

    def end(self):
        self.supervisor.end()
