"""A systemd of its own for a test, in namespaces and a cgroup that end with it."""

import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest

from .paths import PATIENCE
from .programs import Program, environment, wait_until

BOOT = pathlib.Path(__file__).parent / "boot-systemd"
SYSTEMD = "/lib/systemd/systemd"


def _cgroup2():
    """Where the unified hierarchy is mounted, None without one."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        found = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    return pathlib.Path(found[0]) if found else None


def missing():
    """Why no systemd can be booted here, None if one might."""
    if os.geteuid() != 0:
        return "only root can make the namespaces"
    for program in (SYSTEMD, "unshare", "nsenter", "pivot_root"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if _cgroup2() is None:
        return "no cgroup2 is mounted"
    return None


class Systemd:
    """`places`: {folder of this machine: where it is inside}."""

    def __init__(self, folder, places):
        reason = missing()
        if reason:
            pytest.skip(reason)
        root = folder / "root"
        root.mkdir()
        self._cgroup = _cgroup2() / f"pgflow-test-{os.getpid()}"
        try:
            self._cgroup.mkdir()
        except OSError as error:
            pytest.skip(f"no cgroup can be made: {error}")
        join = f'echo $$ >"{self._cgroup}/cgroup.procs" && exec "$@"'
        self._program = Program(
            ["sh", "-c", join, "sh", "unshare", "--pid", "--fork", "--mount", "--cgroup", "--uts", "--ipc", "--net", "--kill-child",
             BOOT, root, *(f"{outside}={inside}" for outside, inside in places.items())], environment(), folder)
        try:
            wait_until(self._is_up)
        except AssertionError:
            told = self._program.said()
            self.end()
            pytest.skip(f"systemd does not boot here: {told[-500:]}")

    def _is_up(self):
        if not self._program.running():
            raise AssertionError("it ended")
        return self.control("is-system-running").stdout.strip() in ("running", "degraded")

    def enter(self, *command, **options):
        """Runs a command inside."""
        (first, *_) = self._program.children() or [0]
        return subprocess.run(
            ["nsenter", "--target", str(first), "--all", "--root", "--wd", *map(str, command)],
            capture_output=True, text=True, timeout=PATIENCE, check=False, **options)

    def control(self, *words):
        return self.enter("systemctl", *words)

    def write(self, path, text):
        written = self.enter("sh", "-c", 'mkdir -p "$(dirname "$1")" && umask 077 && cat >"$1"', "sh", path, input=text)
        assert written.returncode == 0, written.stderr

    def show(self, unit):
        """The properties of a unit."""
        return dict(line.split("=", 1) for line in self.control("show", unit).stdout.splitlines() if "=" in line)

    def until(self, unit, **wanted):
        """Wait until the properties are these; the text tells what it says then."""
        seen = {}

        def so():
            seen.update(self.show(unit))
            return all(seen.get(name) == value for name, value in wanted.items())

        try:
            wait_until(so, PATIENCE)
        except AssertionError:
            shown = {name: seen.get(name) for name in ("ActiveState", "SubState", "Result", "NRestarts", "StatusText", "ExecMainStatus")}
            raise AssertionError(f"{unit} is {shown}:\n{self.enter('tail', '-n', '20', '/run/host.log').stdout}") from None
        return seen

    def end(self):
        self._program.kill()
        if not self._cgroup.exists():
            return
        wait_until(lambda: not self._cgroup.joinpath("cgroup.events").read_text().startswith("populated 1"))
        for folder, _, _ in os.walk(self._cgroup, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
