"""Everything that a fault may touch: the server, the hosts, their network, files and load."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from lib import database as databases
from lib.paths import HOST, SANITIZED, module

from .ask import Asker
from .load import QUEUES, Load
from .proxy import Network, Proxy
from .supervisor import Slot, Supervisor, host_arguments

DATABASE = "chaos"
HANDLER_USER = "nobody"
CONCURRENCY = 3
BURST = 12
# Of the user that runs handlers; a fork bomb meets it.
PROCESS_LIMIT = 200
MODULES = {
    "chaos_main": ("orders_v1", "orders_v2", "tally_v1", "tally_v2"),
    "chaos_mail": ("orders_v1", "orders_v2"),
    "chaos_bulk": ("tally_v1", "tally_v2"),
}
# The host beside the proxied one of each queue differs from it.
WAYS_TO_CONNECT = {
    "chaos_main": ("--db-connections", "1"),
    "chaos_mail": ("--no-listen",),
    "chaos_bulk": ("--db-connections", "3"),
}
# A sanitizer wants to be the first library of a process.
FAKETIME = None if SANITIZED else next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


class World:
    def __init__(self, seed, runs_a_second, quick):
        self.quick = quick
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pgf-chaos."))
        self.folder.chmod(0o755)
        self.url = databases.url(DATABASE)
        self.asker = Asker(self.url)
        self.server_lock = threading.Lock()
        self.recoveries = {}  # what: seconds
        self.healed = []  # (what, time of day, worker or None)
        self.lost_claims = []  # (time of day, [(run, step, task)])
        self.findings = []  # what a fault itself saw and the audit reports
        # Starts of error texts that are explained: each fault adds its own; any machine may be slow.
        self.causes = {"timed out after"}
        self.network = Network()
        self.supervisor = Supervisor()
        self.load = Load(self.asker, seed, self.ledger, runs_a_second)

    @property
    def ledger(self):
        return self.folder / "ledger"

    @property
    def slots(self):
        return self.supervisor.slots

    # ---- set-up ----

    def set_up(self):
        self.ledger.touch()
        self.ledger.chmod(0o666)
        self.clock_file.write_text("+0\n")
        databases.administer(f"create database {DATABASE}")
        subprocess.run([databases.CTL, "migrate", "--database", self.url], check=True, timeout=120)
        self.modules = self._copy_modules()
        for queue in QUEUES:
            self.supervisor.add(self.make_slot(f"{queue}/proxied", queue, "proxied"))
            self.supervisor.add(self.make_slot(f"{queue}/direct", queue, "direct", options=WAYS_TO_CONNECT[queue]))
        self.supervisor.wait_ready()

    def _copy_modules(self):
        """Files of our own, for the faults that overwrite them."""
        folder = self.folder / "modules"
        folder.mkdir()
        names = {name for given in MODULES.values() for name in given}
        return {name: pathlib.Path(shutil.copy(module(name), folder)) for name in names}

    def make_slot(self, name, queue, way, url=None, plugins=None, options=(), program=HOST):
        """A host as this suite runs them, not started; faults may have further ones.

        `way`: "proxied" or "direct", to `url` or the database of the suite.
        """
        proxy = Proxy(self.network, f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ['PGPORT']}") if way == "proxied" else None
        if proxy is not None:
            url = f"postgresql://{os.environ['PGUSER']}@127.0.0.1:{proxy.port}/{DATABASE}"
        arguments = host_arguments(
            queue, plugins or [self.modules[m] for m in MODULES[queue]], "--concurrency", str(CONCURRENCY), "--activate", "manual",
            "--connect-timeout", "120", "--drain-timeout", "10", "--runner-idle", "5",
            "--module-dir", self.folder / "copies", *options, program=program,
        )
        if os.geteuid() == 0:
            arguments = ["prlimit", f"--nproc={PROCESS_LIMIT}", *arguments, "--handler-user", HANDLER_USER]
        slot = Slot(name, arguments, {"PGFLOW_DATABASE": url or self.url, **self._fake_time()}, self.folder)
        slot.proxy = proxy
        return slot

    def _fake_time(self):
        """Only the time of day moves: what steps is a clock, not the machine."""
        if FAKETIME is None:
            return {}
        return {
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": self.clock_file, "FAKETIME_NO_CACHE": 1,
            "FAKETIME_DONT_FAKE_MONOTONIC": 1,
        }

    @property
    def clock_file(self):
        return self.folder / "clock"

    # ---- what faults use ----

    def server(self, verb):
        subprocess.run(["pg-control", verb], check=True, timeout=180)

    def slot(self, number):
        """The host at a place, or the other one of its queue while that is frozen."""
        return self.slots[number ^ 1 if self.slots[number].frozen else number]

    def claims_of(self, worker):
        """The tasks that a worker has claimed and not finished."""
        return self.asker.rows(
            "select run_id::text, step_slug, task_index from pgflow.step_tasks"
            " where status = 'started' and last_worker_id = %s", worker
        ) if worker else []

    def wait_busy(self, slot, patience=10.0):
        """Wait until a host has claimed something; gives its worker id, busy or not."""
        worker = slot.worker_id()
        if worker:
            self.asker.until(
                "select count(*) > 0 from pgflow.step_tasks where status = 'started' and last_worker_id = %s",
                worker, patience=patience,
            )
        return worker

    def fill(self, slot, patience=10.0):
        """More work for this host's queue than its hosts have slots; gives its worker id.

        Waits until its slots are taken, unless other faults keep it from that.
        """
        flow = "tally_v2" if slot.queue == "chaos_bulk" else "orders_v2"
        for _ in range(BURST):
            self.load.start_run(flow, ms=500)
        worker = slot.worker_id()
        if worker:
            self.asker.until(
                "select count(*) >= %s from pgflow.step_tasks where status = 'started' and last_worker_id = %s",
                CONCURRENCY, worker, patience=patience,
            )
        return worker

    def note_healed(self, what, slot=None):
        """From here to the next completed task (of this host): the time that this fault cost."""
        if slot is None or not slot.frozen:
            self.healed.append((what, time.time(), slot.worker_id() if slot else None))

    def note_recovery(self, what, seconds):
        self.recoveries.setdefault(what, []).append(seconds)

    # ---- the end ----

    def settle(self, patience):
        """The load has ended: wait until every run has. False: some did not."""
        return self.asker.until(
            "select count(*) = 0 from pgflow.runs where status = 'started'", patience=patience
        )

    def close(self):
        """Whatever happened: no process and no file stays."""
        self.supervisor.kill()
        self.network.close()
        self.asker.close()
        shutil.rmtree(self.folder, ignore_errors=True)
