"""An earlier release beside this one: its programs, built from the repository's history, and what the server said."""

import os
import pathlib
import re
import subprocess

import pytest

from .database import administer, url
from .paths import SOURCE
from .programs import Hosts, run

BUILD_PATIENCE = 1500


def build(version):
    """Its folder on stdout; status 77 with the reason where it cannot be built."""
    return subprocess.run([SOURCE / "tests" / "support" / "release", version], capture_output=True, text=True,
                          check=False, timeout=BUILD_PATIENCE)


class Release:
    """The programs and modules of a release that shipped."""

    def __init__(self, version):
        made = build(version)
        if made.returncode == 77:
            pytest.skip(made.stderr.strip())
        assert made.returncode == 0, made.stderr
        self.build = pathlib.Path(made.stdout.strip())
        self.host = self.build / "bin" / "pgflow-host"

    def ctl(self, *options, **more):
        return run([self.build / "bin" / "pgflowctl", *options], more.get("env"), more.get("patience", 60), None)

    def module(self, name):
        return self.build / "plugins" / f"{name}.so"

    def install(self, name):
        """A database of that name with the schema of that release."""
        administer(f"create database {name}")
        done = self.ctl("migrate", "--database", url(name))
        assert done.returncode == 0, done.stderr

    def hosts(self, database, folder):
        return Hosts(database, folder, program=self.host)


class ServerLog:
    """What the server says from now on, each line with its SQLSTATE and program."""

    PREFIX = "%m [%p] <%e|%a|%d> "
    LINE = re.compile(r"<(?P<state>\w*)\|(?P<program>[^|]*)\|(?P<database>[^>]*)> (?P<severity>[A-Z]+):  (?P<text>.*)")

    def __init__(self, database):
        self._database = database
        self._path = pathlib.Path(os.environ["PGHOST"]) / "server.log"
        administer(f"alter system set log_line_prefix = '{self.PREFIX}'", "alter system set deadlock_timeout = '20ms'",
                   "select pg_reload_conf()")
        self._from = self._path.stat().st_size

    def lines(self):
        with open(self._path, encoding="utf-8", errors="replace") as file:
            file.seek(self._from)
            found = [self.LINE.search(line) for line in file]
        return [line for line in found if line and line["database"] == self._database]

    def errors(self, ignored=("pgflowctl",)):
        """Of every program but these: (SQLSTATE, program, text). Class 08 is the end of a program that had asked something."""
        return [(line["state"], line["program"], line["text"]) for line in self.lines()
                if line["severity"] in ("ERROR", "FATAL", "PANIC") and not line["program"].startswith(tuple(ignored))
                and not line["state"].startswith("08")]

    def longest_wait_ms(self, ignored=("pgflowctl",)):
        """For the lock of a table, by whoever had to wait; 0: for none as long as the server tells of."""
        waits = [re.search(r"acquired \w+ on relation .* after ([\d.]+) ms", line["text"]) for line in self.lines()
                 if not line["program"].startswith(tuple(ignored))]
        return max((float(wait[1]) for wait in waits if wait), default=0.0)
