"""The installed unit below a real systemd: what it starts again, and what stays down.

The systemd is booted in namespaces of its own, and skipped with the reason where that cannot be done."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from lib.paths import BUILD, SOURCE, module
from lib.rollout import build_ids, entry, manifest
from lib.systemd import Systemd

PREFIX = "/opt/pgflow"
SOCKETS = "/opt/postgres"
FUNCTION = "pgflow-host/noop"
UNIT = "pgflow-host@noop.service"


@pytest.fixture
def public_socket():
    """The server's socket where the service's user reaches it."""
    folder = pathlib.Path(os.environ["PGHOST"])
    mode = folder.stat().st_mode
    folder.chmod(0o711)
    yield folder
    folder.chmod(mode)


@pytest.fixture
def systemd(public_folder, public_socket):
    staged = public_folder / "staged"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", PREFIX, "--component", "host"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(staged)})
    (staged / "opt" / "pgflow" / "modules").mkdir()
    for name in ("noop", "routed_v1", "routed_v1_patched"):
        shutil.copy(module(name), staged / "opt" / "pgflow" / "modules")
    booted = Systemd(public_folder, {staged / "opt" / "pgflow": PREFIX, public_socket: SOCKETS})
    unit = (staged / "opt/pgflow/lib/systemd/system/pgflow-host@.service").read_text()
    booted.write("/etc/systemd/system/pgflow-host@.service", unit)
    # What is waited for is the restart, not ten seconds.
    booted.write("/etc/systemd/system/pgflow-host@.service.d/fast.conf",
                 "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=200ms\n"
                 "StandardError=append:/run/host.log\n")
    booted.folder = next(line for line in unit.splitlines() if line.startswith("AssertPathExists=")).split("=")[1].rsplit("/", 1)[0]
    yield booted
    booted.end()


@pytest.fixture
def serve(systemd, database):
    """Configures a host and starts its service; more lines of its file, and what to wait for."""

    def start(queue="noop", plugin="noop", extra="", **wanted):
        url = database.url.replace(os.environ["PGHOST"], SOCKETS)
        systemd.write(f"{systemd.folder}/{queue}.conf",
                      f"queue = {queue}\nplugin = {PREFIX}/modules/{plugin}.so\ndatabase = {url}\n{extra}")
        systemd.control("daemon-reload")
        systemd.control("start", "--no-block", f"pgflow-host@{queue}")
        return systemd.until(f"pgflow-host@{queue}.service", **wanted)

    return start


RUNNING = {"ActiveState": "active", "SubState": "running", "StatusText": "claiming"}


def test_deprecated_host_comes_back_and_stands_by_behind_the_fence_until_it_is_lifted(systemd, serve, database):
    first = serve(**RUNNING)
    database.rows("select pgflow.disable_worker_functions(array[%s])", FUNCTION)

    database.rows("select pgflow.deprecate_workers(array[%s])", FUNCTION)

    standing = systemd.until(UNIT, NRestarts="1", ActiveState="active", StatusText="standing by: the worker function is disabled")
    assert standing["MainPID"] != first["MainPID"]
    database.rows("select pgflow.enable_worker_function(%s)", FUNCTION)
    systemd.until(UNIT, NRestarts="1", **RUNNING)


@pytest.mark.parametrize("signal", ["HUP", "TERM"])
def test_host_that_somebody_sent_a_signal_comes_back(systemd, serve, signal):
    first = serve(**RUNNING)

    systemd.control("kill", "--kill-who=main", f"--signal={signal}", UNIT)

    again = systemd.until(UNIT, NRestarts="1", **RUNNING)
    assert again["MainPID"] != first["MainPID"]


def test_stop_of_the_service_is_for_good_and_clean(systemd, serve, database):
    serve(**RUNNING)

    stopped = systemd.control("stop", UNIT)

    assert stopped.returncode == 0, stopped.stderr
    shown = systemd.show(UNIT)
    assert (shown["ActiveState"], shown["Result"], shown["ExecMainStatus"], shown["NRestarts"]) == ("inactive", "success", "0", "0")
    assert database.value("select count(*) from pgflow.workers where stopped_at is null") == 0


def test_wrong_option_stays_down(serve):
    shown = serve(extra="no-such-option = 1\n", ActiveState="failed")

    assert (shown["ExecMainStatus"], shown["NRestarts"]) == ("64", "0")


def test_host_that_does_not_cover_its_queue_is_starting_until_it_does(systemd, serve, database):
    database.rows("select pgflow.ensure_deployment(%s::jsonb)", json.dumps(
        {"flowSlug": "lost", "queueMode": "routed", "routes": {"only": "routed_main"}, "steps": [{"slug": "only"}]}))

    serve("routed_main", "routed_v1", NRestarts="1", ActiveState="activating", SubState="start",
          StatusText="not ready: the given modules do not cover the queue; pgflowctl coverage routed_main")

    database.until("select count(*) = 1 from pgflow.workers where standby and last_heartbeat_at > started_at")
    database.rows("select pgflow.delete_flow_and_data('lost')")
    systemd.until("pgflow-host@routed_main.service", NRestarts="1", **RUNNING)


def test_driver_replaces_the_code_of_units_by_the_hooks_of_the_example(systemd, serve, database):
    queues = ("routed_main", "routed_mail")
    for queue in queues:
        serve(queue, "routed_v1", **RUNNING)
    example = (SOURCE / "packaging" / "hooks" / "systemd.hooks.json").read_text()
    (commands,) = json.loads(example)["functions"].values()
    install = f"cp {PREFIX}/modules/routed_v1_patched.so {PREFIX}/modules/new.so && mv {PREFIX}/modules/new.so {PREFIX}/modules/routed_v1.so"
    hooks = {f"pgflow-host/{queue}": {
        verb: [word.replace("@classify", f"@{queue}") for word in words] for verb, words in commands.items()} for queue in queues}
    for function in hooks.values():
        function["start"] = f"{install} && {' '.join(function['start'])}"
    systemd.write("/run/A.hooks.json", json.dumps({"timeout": 60, "functions": hooks}))
    systemd.write("/run/A.json", json.dumps(manifest("A", *(
        entry(f"pgflow-host/{queue}", "replace", True, build_ids("routed_v1_patched"), queue=queue) for queue in queues))))
    url = database.url.replace(os.environ["PGHOST"], SOCKETS)

    done = systemd.enter("env", f"PGFLOW_DATABASE={url}", f"{PREFIX}/bin/pgflowctl", "rollout", "/run/A.json", "run")

    assert done.returncode == 0, done.stdout + done.stderr
    for queue in queues:
        systemd.until(f"pgflow-host@{queue}.service", **RUNNING)
    database.wait_run(database.start_flow("routed"))
    working = database.rows("select info #>> '{modules,0,buildId}' from pgflow.workers where stopped_at is null and not standby")
    assert [tuple(row) for row in working] == [tuple(build_ids("routed_v1_patched"))] * 2
