"""What workloads are given: the build, the sizes, databases, hosts, the plain client."""

import contextlib
import os
import pathlib
import sys

from .pump import Pump
from .server import Database

from lib import programs  # of tests/e2e; .server put it on the path

MODULES = {"noop": "tests/plugins", "chain": "tests/plugins"}


class Bench:
    def __init__(self, size, folder, account=False, patience=0):
        self.build = pathlib.Path(os.environ["PGFLOW_BUILD"])
        self.size = size
        self.folder = folder
        self.account = account
        self.patience = patience
        self.pump = Pump(self.build, folder, patience)
        self._templates = {}

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def module(self, name):
        return str(self.build / MODULES.get(name, "tests/bench") / f"{name}.so")

    def modules(self, *names):
        return [self.module(name) for name in names]

    @contextlib.contextmanager
    def hosts(self, database):
        started = programs.Hosts(database, self.folder)
        try:
            yield started
        finally:
            started.end()

    @contextlib.contextmanager
    def database(self, *modules, queue=None):
        """A fresh database in which these modules' flows are compiled and active; nothing else."""
        made = Database(self._compiled(modules, queue)) if modules else Database()
        try:
            yield made
        finally:
            made.close()

    def _compiled(self, names, queue):
        """Compiled once, by a host that starts and stops; then copied."""
        if names not in self._templates:
            made = Database()
            with self.hosts(made) as started:
                started.start(queue=queue, plugins=self.modules(*names)).stop()
            self._templates[names] = made.template()
        return self._templates[names]
