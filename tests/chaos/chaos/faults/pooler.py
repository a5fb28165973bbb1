"""Hosts behind PgBouncer in transaction mode, and a PgBouncer that dies."""

import contextlib
import os
import pathlib
import shutil
import time

from lib.paths import SOURCE
from lib.programs import Program

from ..world import DATABASE
from .base import Fault

PORT = 6432
PLACES = ("/usr/sbin/pgbouncer", SOURCE / "build" / "tools" / "pgbouncer" / "usr" / "sbin" / "pgbouncer")
CONFIG = """[databases]
{database} = host={host} port={port} user={user} pool_size=3
[pgbouncer]
pool_mode = transaction
auth_type = any
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
logfile = {folder}/log
"""


def find_pooler():
    return next((place for place in map(pathlib.Path, PLACES) if place.exists()), None)


class Pooler(Fault):
    name = "pooler"
    what = "two hosts behind PgBouncer in transaction mode share three servers; it is killed and started again"

    def plan(self, random):
        return {"seconds": random.uniform(2, 5)}

    def why_not(self, world):
        return None if find_pooler() else "pgbouncer is neither installed nor in build/tools (scripts/check fetches it)"

    def inject(self, world, seconds):
        folder = self._make_folder(world)
        url = f"postgresql://{os.environ['PGUSER']}@/{DATABASE}?host={folder}&port={PORT}"
        with contextlib.ExitStack() as ending:
            pooler = self._start(folder)
            ending.callback(lambda: pooler.kill())
            slots = [
                world.make_slot(f"pooled/{queue}", queue, "direct", url=url, options=("--pooled",))
                for queue in ("chaos_main", "chaos_bulk")
            ]
            for slot in slots:
                world.supervisor.add(slot)
                ending.callback(world.supervisor.remove, slot)
            for slot in slots:
                slot.wait_ready(1)
            time.sleep(seconds)
            pooler.kill()
            pooler = self._start(folder)
            for slot in slots:
                world.note_healed("PgBouncer killed and started: next task of a host", slot)
            time.sleep(seconds)

    @staticmethod
    def _make_folder(world):
        """Its own, also for the binary: PgBouncer refuses to run as root, and others may not see the build."""
        folder = world.folder / "pooler"
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o777)
            shutil.copy(find_pooler(), folder / "pgbouncer")
            text = CONFIG.format(
                database=DATABASE, host=os.environ["PGHOST"], port=os.environ["PGPORT"], user=os.environ["PGUSER"],
                own_port=PORT, folder=folder,
            )
            (folder / "ini").write_text(text)
        return folder

    @staticmethod
    def _start(folder):
        (folder / f".s.PGSQL.{PORT}").unlink(missing_ok=True)
        command = [folder / "pgbouncer", "-q", folder / "ini"]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig", "KILL", *command]
        return Program(command, dict(os.environ), folder)
