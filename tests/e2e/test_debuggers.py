"""What debuggers see of a module that runs from sealed memory: names, files and lines, also when its source is gone.

Each test skips where its tool is absent.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess

import pytest

from lib.paths import BUILD, PATIENCE, SANITIZED, SOURCE, VALGRIND, module
from lib.programs import run_ctl

pytestmark = pytest.mark.skipif(VALGRIND, reason="a debugger of its own")


def need(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool} here")


def gdb(*arguments):
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *map(str, arguments)], capture_output=True, text=True, timeout=4 * PATIENCE, check=False
    )
    return done.stdout + done.stderr


@pytest.fixture
def private(tmp_path):
    """A copy of a module that a test may remove."""

    def make(name):
        copy = tmp_path / "private" / f"{name}.so"
        copy.parent.mkdir(mode=0o755, exist_ok=True)
        shutil.copy(module(name), copy)
        return copy

    return make


def frame(text, function, source):
    assert re.search(rf"\b{function} .*\bat \S*{source}:\d+", text), text


def test_gdb_attached_to_a_runner_shows_the_lines_of_its_handler(database, hosts, private):
    need("gdb")
    file = private("faults")
    host = hosts.start("--concurrency", "1", "--log-level", "debug", queue="faults", plugins=[str(file)])
    file.unlink()
    database.start_flow("faults", {"fault": "sleep", "ms": 60000})
    host.log.wait("task_started")
    (runner,) = host.children()

    frame(gdb("-p", runner, "-ex", "backtrace"), "fault_sleep", "faults_greedy.c")


def test_core_file_shows_the_lines_of_the_handler_after_host_and_source_are_gone(database, hosts, private, tmp_path):
    need("gdb")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("the hard limit of this session allows no core file")
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if "/" in pattern or pattern.startswith("|"):
        pytest.skip(f"core files go elsewhere here: {pattern}")
    file = private("faults")
    host = hosts.start("--handler-core", "--concurrency", "1", queue="faults", plugins=[str(file)])
    run = database.start_flow("faults", {"fault": "segv"})
    database.wait_run(run, "failed")
    host.stop()
    file.unlink()
    core = sorted(tmp_path.glob("core*"))

    assert core, f"no core file; the pattern is {pattern}"
    frame(gdb(BUILD / "bin" / "pgflow-runner", core[0], "-ex", "backtrace"), "fault_segv", "faults_die.c")


@pytest.mark.skipif(SANITIZED, reason="the module alone is to have the sanitizer")
def test_sanitizer_report_names_file_and_line(database, hosts, tmp_path):
    need("cc")
    library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(library):
        pytest.skip("no libasan.so here")
    folder = tmp_path / "sanitized"
    folder.mkdir()
    sources = [SOURCE / "tests/plugins/flow_careless.c", SOURCE / "tests/plugins/support.c"]
    subprocess.run(
        ["cc", "-g", "-shared", "-fPIC", "-fsanitize=address", "-D_GNU_SOURCE", f"-I{SOURCE}/plugin-sdk/include",
         "-o", str(folder / "careless.so"), *map(str, sources)],
        check=True,
    )
    host = hosts.start(
        "--pass-env", "LD_PRELOAD", "--pass-env", "ASAN_OPTIONS", "--handler-memory", "0",
        queue="careless", plugins=[str(folder / "careless.so")],
        env={"LD_PRELOAD": os.path.realpath(library), "ASAN_OPTIONS": "detect_leaks=0"},
    )
    (folder / "careless.so").unlink()
    database.start_flow("careless")

    host.log.wait("handler_failed", step="overrun")
    database.until("select error_message is not null from pgflow.step_tasks where step_slug = 'overrun'")
    report = database.value("select error_message from pgflow.step_tasks where step_slug = 'overrun'")
    assert re.search(r"heap-buffer-overflow \S*flow_careless\.c:\d+ in careless_overrun", report), report


@pytest.mark.skipif(SANITIZED, reason="valgrind runs no program that a sanitizer was built into")
def test_valgrind_names_file_and_line(private):
    need("valgrind")
    file = private("careless")
    done = run_ctl("exec", file, "--step", "overrun", "--under", "valgrind", patience=4 * PATIENCE)

    assert re.search(r"careless_overrun \(flow_careless\.c:\d+\)", done.stdout + done.stderr), done.stdout + done.stderr
