"""A disk that is full for a while."""

import os
import pathlib
import shutil
import subprocess
import time

import psycopg2

from .base import Fault

SPARE_MIB = 48


class DiskFull(Fault):
    """The data folder is moved to a small tmpfs and back; two orderly restarts are part of it."""

    name = "disk_full"
    what = "the database's disk is full for some seconds"
    quick = False

    def plan(self, random):
        return {"seconds": random.uniform(3, 8)}

    def why_not(self, world):
        return None if os.environ.get("CHAOS_CAN_MOUNT") == "1" else "mounting a small disk needs root and unshare(1)"

    def inject(self, world, seconds):
        data = pathlib.Path(os.environ["PGF_CLUSTER"]) / "data"
        with world.server_lock:
            world.server("stop")
            self._mount(data)
            try:
                world.server("start")
                self._fill(world, data, seconds)
            finally:
                self._stop(world)
                self._unmount(data)
                world.server("start")
        world.note_healed("disk full: next task completed")

    @staticmethod
    def _mount(data):
        """The disk lies over the folder itself, so that every path stays what it was."""
        beside = data.with_name("data.beside")
        data.rename(beside)
        data.mkdir()
        used = int(subprocess.run(["du", "-sm", beside], check=True, capture_output=True, text=True).stdout.split()[0])
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={used + SPARE_MIB}m,mode=0700", "tmpfs", data], check=True
        )
        owner = beside.stat()
        os.chown(data, owner.st_uid, owner.st_gid)
        subprocess.run(["cp", "-a", f"{beside}/.", data], check=True)

    def _fill(self, world, data, seconds):
        """Until nothing fits any more, again and again: the server frees a little now and then."""
        ballast = data / "ballast"
        end = time.monotonic() + seconds
        refused = False
        try:
            with open(ballast, "wb", buffering=0) as file:
                while time.monotonic() < end or not refused:
                    try:
                        file.write(b"\0" * 65536)
                    except OSError:
                        refused = refused or self._refuses(world)
                        time.sleep(0.1)
        finally:
            ballast.unlink()

    @staticmethod
    def _refuses(world):
        """Has the server met the end of its disk? It refuses to write, or is not there any more."""
        try:
            world.asker.once("create table pg_temp.more as select repeat(i::text, 100) from generate_series(1, 20000) i")
            world.asker.once("drop table pg_temp.more")
        except psycopg2.Error as error:
            world.asker.close()
            return error.pgcode in (None, "53100")
        return False

    @staticmethod
    def _stop(world):
        """It may have ended by itself, when it could not write its log."""
        if subprocess.run(["pg-control", "status"], check=False, capture_output=True).returncode == 0:
            try:
                world.server("stop")
            except subprocess.CalledProcessError:
                world.server("crash")

    @staticmethod
    def _unmount(data):
        beside = data.with_name("data.beside")
        shutil.rmtree(beside)
        subprocess.run(["cp", "-a", data, beside], check=True)
        subprocess.run(["umount", data], check=True)
        data.rmdir()
        beside.rename(data)
