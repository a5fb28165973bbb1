"""A hot standby of the file's PostgreSQL, and its promotion: what a failover is made of."""

import os
import pathlib
import subprocess

import pytest

from .programs import Program, wait_until

PORT = 5433


def _as_server(command):
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]


class Standby:
    """Beside the primary's folder, on the next port of the same socket folder; dies with the test."""

    def __init__(self):
        cluster = pathlib.Path(os.environ["PGF_CLUSTER"])
        self._bin = pathlib.Path(os.environ["PGBIN"])
        if not (self._bin / "pg_basebackup").exists():
            pytest.skip(f"{self._bin} has no pg_basebackup to make a standby with")
        self._folder = cluster / "standby"
        self._folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            # Whoever owns the primary's files.
            owner = (cluster / "data").stat()
            os.chown(self._folder, owner.st_uid, owner.st_gid)
        self._run("pg_basebackup", "-D", self._folder, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self._program = Program(
            _as_server([self._bin / "postgres", "-D", self._folder, "-p", str(PORT)]), dict(os.environ), cluster
        )
        wait_until(lambda: self._answers("select pg_is_in_recovery()") == "t")

    def _run(self, program, *arguments):
        subprocess.run(
            _as_server([str(self._bin / program), *map(str, arguments)]), check=True, timeout=120, cwd="/"
        )

    def _answers(self, sql):
        asked = subprocess.run(
            ["psql", "-XAtqc", sql, "-p", str(PORT)], capture_output=True, text=True, check=False, timeout=60
        )
        return asked.stdout.strip()

    def wait_caught_up(self, database):
        database.until(
            "select coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) from pg_stat_replication"
        )

    def promote(self):
        self._answers("select pg_promote()")
        wait_until(lambda: self._answers("select pg_is_in_recovery()") == "f")

    def close(self):
        self._program.kill()
