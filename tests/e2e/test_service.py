"""The systemd unit and the configuration sample: what they say is true of the real host."""

import configparser
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import hosts_on
from lib.paths import BUILD, SOURCE, module
from lib.programs import run_host, status_of, wait_gone

PACKAGING = SOURCE / "packaging"
UNIT = PACKAGING / "systemd" / "pgflow-host@.service"
DROP_IN = PACKAGING / "systemd" / "handler-user.conf"
SAMPLE = PACKAGING / "config" / "host.conf"
NOBODY = 65534
SECCOMP = SOURCE / "tests" / "e2e" / "lib" / "seccomp_exec.py"

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
# `#name = value`, but for sentences.
SAMPLE_LINE = re.compile(r"^#([a-z-]+) = (.*?)(?:[ \t]+#.*)?$", re.M)


def section(path, name="Service"):
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str
    parsed.read(path)
    return parsed[name]


def defaults():
    """Option and default as `pgflow-host --help` gives them, None without one."""
    text = re.sub(r"\n {10,}", " ", run_host("--help").stdout)
    return {
        name: (re.search(r"\(default:? ([^);,]+)", rest) or re.search(r"()$", rest)).group(1)
        for name, rest in re.findall(r"^ +--([a-z-]+)(.*)$", text, re.M)
    }


def analyze(*words):
    return subprocess.run(["systemd-analyze", *map(str, words)], capture_output=True, text=True, check=False)


@needs_systemd
def test_systemd_finds_no_fault_with_the_unit(tmp_path):
    installed = ["cmake", "--install", BUILD, "--prefix", tmp_path, "--component", "host"]
    subprocess.run(installed, check=True, stdout=subprocess.DEVNULL)

    judged = analyze("verify", "--man=no", tmp_path / "lib/systemd/system/pgflow-host@.service")

    assert (judged.returncode, judged.stderr.strip()) == (0, "")


@needs_systemd
def test_systemd_counts_the_exposure_of_the_unit_as_low():
    judged = analyze("security", "--offline=true", "--no-pager", "--threshold=20", UNIT)

    assert judged.returncode == 0, judged.stdout


def test_unit_gives_a_stop_and_a_start_longer_than_the_host_takes():
    unit, usual = section(UNIT), defaults()

    assert int(unit["TimeoutStopSec"]) == int(usual["drain-timeout"]) + 10
    assert int(unit["TimeoutStartSec"]) > int(usual["connect-timeout"])


def test_unit_starts_again_after_every_status_but_wrong_use(tmp_path):
    """test_systemd.py sees it do so."""
    unit = section(UNIT)
    wrong = run_host("--queue", "noop")
    unsuitable = run_host("--plugin", tmp_path / "none.so")

    assert unit["Restart"] == "always"
    assert unit["RestartPreventExitStatus"].split() == [str(wrong.returncode)]
    assert unsuitable.returncode == 78


def test_stop_of_the_unit_is_for_the_host_alone_because_a_runner_would_end_at_once(database, hosts):
    host = hosts.start(queue="faults", plugins=["faults"])
    (runner,) = host.children()

    os.kill(runner, signal.SIGTERM)

    wait_gone(runner)
    assert section(UNIT)["KillMode"] == "mixed"


@needs_systemd
def test_host_and_handlers_work_with_the_system_calls_of_the_unit(database, hosts):
    pytest.importorskip("seccomp", reason="python3-seccomp is not installed")
    calls = allowed_calls(section(UNIT)["SystemCallFilter"].split())
    wrapper = [sys.executable, SECCOMP, ",".join(sorted(calls))]
    host = hosts.start(queue="faults", plugins=["faults"], wrapper=wrapper)
    (runner,) = host.children()

    assert status_of(host.pid)["Seccomp"] == status_of(runner)["Seccomp"] == "2"
    database.wait_run(database.start_flow("faults", {"fault": "self"}))
    host.stop()


def allowed_calls(names):
    """The calls of these sets, and of the sets in them."""
    calls = set()
    while names:
        name = names.pop()
        if name.startswith("@"):
            listed = analyze("syscall-filter", name).stdout.splitlines()[1:]
            names += [line.strip() for line in listed if line.strip() and not line.strip().startswith("#")]
        else:
            calls.add(name)
    return calls


@pytest.fixture
def public_socket():
    """The server's socket in a folder that everybody can pass through, as that of a package is."""
    folder = pathlib.Path(os.environ["PGHOST"])
    mode = folder.stat().st_mode
    folder.chmod(0o711)
    yield
    folder.chmod(mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to give up")
@pytest.mark.usefixtures("public_socket")
def test_host_of_the_drop_in_needs_no_more_capabilities_than_it_has(database, public_folder):
    kept = section(DROP_IN)["CapabilityBoundingSet"].lower().replace("cap_", "+").split()
    wrapper = ["setpriv", "--no-new-privs", "--bounding-set", ",".join(["-all", *kept])]
    with hosts_on(database, public_folder) as hosts:
        options = ("--handler-user", "nobody", "--drain-timeout", "0")
        host = hosts.start(*options, queue="faults", plugins=["faults"], wrapper=wrapper)
        run = database.start_flow("faults", {"fault": "self"})
        database.wait_run(run)
        assert database.task(run, "self").output["uid"] == NOBODY
        slow = database.start_flow("faults", {"fault": "sleep", "ms": 60000})
        database.until(
            "select exists (select from pgflow.step_tasks where run_id = %s and status = 'started')", slow
        )
        runners = host.children()

        host.signal(signal.SIGTERM)
        host.signal(signal.SIGINT)

        assert host.wait() == 0
        for runner in runners:
            wait_gone(runner)


def test_sample_names_every_option_that_a_file_takes():
    named = {name for name, _ in SAMPLE_LINE.findall(SAMPLE.read_text())}

    # What is for one run of a program, or for the command line alone.
    assert named == set(defaults()) - {"check", "once", "exit-when-idle", "config", "help", "version"}


def test_sample_shows_the_defaults():
    usual = defaults()
    shown = [line for line in SAMPLE.read_text().splitlines() if line.startswith("#") and "for example" not in line]

    for name, value in SAMPLE_LINE.findall("\n".join(shown)):
        if usual[name]:
            assert value == usual[name], name


def test_sample_with_its_lines_in_force_passes_a_check(database, tmp_path):
    of_here = {
        "queue": "noop",
        "plugin": module("noop"),
        "database": database.url,
        "module-dir": tmp_path / "copies",
        "handler-user": None,
        "adopt-queue": None,
    }
    config = tmp_path / "host.conf"
    lines = {name: of_here.get(name, value) for name, value in SAMPLE_LINE.findall(SAMPLE.read_text())}
    config.write_text("".join(f"{name} = {value}\n" for name, value in lines.items() if value is not None))

    checked = run_host("--config", config, "--check")

    assert checked.returncode == 0, checked.stderr
