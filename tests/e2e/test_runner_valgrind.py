"""Runners under valgrind: every handler that ends well, no error, no block that nothing points at."""

import pathlib
import shutil

import psycopg2.extras
import pytest

from lib.paths import BUILD, HOST, PATIENCE, VALGRIND, module
from lib.programs import Program, environment

pytestmark = pytest.mark.skipif(not VALGRIND, reason="scripts/check valgrind runs it")

# Steps of `faults` whose runner lives on, and how the run ends.
STEPS = {
    "echo": "completed",
    "print": "completed",
    "scratch": "completed",
    "nothing": "completed",
    "big_integers": "completed",
    "self": "completed",
    "fork_returns": "completed",
    "retry_after": "completed",
    "flood": "completed",
    "over_limit": "failed",
    "not_json": "failed",
    "nul_byte": "failed",
    "error_text": "failed",
    "error_long": "failed",
    "error_bad_utf8": "failed",
    "permanent": "failed",
    "spin_politely": "failed",
}


@pytest.fixture
def start(database, tmp_path):
    """Starts a host whose runners are under valgrind; it is looked for beside the host."""
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy(HOST, programs / "pgflow-host")
    shutil.copy(BUILD / "bin" / "runner_under_valgrind", programs / "pgflow-runner")
    started = []

    def run(queue, *names):
        arguments = [programs / "pgflow-host", "--log-format", "json", "--log-level", "debug", "--module-dir", tmp_path / "copies"]
        # valgrind itself needs more memory than a handler may have.
        arguments += ["--queue", queue, "--handler-memory", "0", "--concurrency", "2"]
        for name in names:
            arguments += ["--plugin", name if isinstance(name, pathlib.Path) else module(name)]
        host = Program(arguments, environment(PGFLOW_DATABASE=database.url, TMPDIR=tmp_path), tmp_path)
        started.append(host)
        host.log.wait("ready", patience=2 * PATIENCE)
        return host

    yield run
    for host in started:
        host.kill()


def findings(folder):
    """What valgrind wrote: one file a runner, empty when there was nothing to say."""
    files = sorted(folder.glob("runner-*.valgrind"))
    assert files, "no runner was under valgrind"
    return "\n".join(text for text in (file.read_text() for file in files) if text)


def stop(host):
    """At least one runner came to its end by itself: only that one was looked through for blocks."""
    host.stop()
    ends = [record["msg"] for record in host.log.find("runner_exit")]
    assert "runner ended (stopped): exited with status 0" in ends


def start_flow(database, flow, run_input):
    return database.value("select run_id::text from pgflow.start_flow(%s, %s)", flow, psycopg2.extras.Json(run_input))


def test_runners_make_no_error_and_lose_no_memory(database, tmp_path, start):
    host = start("faults", "faults")

    runs = {step: start_flow(database, "faults", {"fault": step, "kib": 80, "mib": 17}) for step in STEPS}
    for step, ending in STEPS.items():
        database.wait_run(runs[step], ending, patience=2 * PATIENCE)
    stop(host)

    assert findings(tmp_path) == ""


def test_real_flow_in_two_versions_makes_no_error_and_loses_no_memory(database, tmp_path, start):
    versions = [BUILD / "plugins" / f"license_audit_{version}.so" for version in ("v1", "v2")]
    host, other = start("license_audit", *versions), start("license_report", *versions)
    report = {"limit": 20, "report": str(tmp_path / "report.md"), "policy": {"families": ["copyleft"]}}

    runs = [start_flow(database, flow, report) for flow in ("license_audit_v1", "license_audit_v2")]
    for run in runs:
        database.wait_run(run, patience=2 * PATIENCE)
    stop(host)
    stop(other)

    assert findings(tmp_path) == ""


def test_memory_that_a_handler_loses_is_found(database, tmp_path, start):
    host = start("faults", "faults")

    # The last block is still pointed at.
    for _ in range(3):
        database.wait_run(start_flow(database, "faults", {"fault": "leak", "mib": 1}), patience=2 * PATIENCE)
    stop(host)

    assert "definitely lost" in findings(tmp_path)
