"""What programs are started with and in: descriptors, ignored signals, limits, folders."""

import os
import signal
import subprocess

import pytest

from lib.paths import CTL, HOST, PATIENCE, module
from lib.programs import environment, run_host


def shell(script, database, *arguments, **options):
    """Run a shell line with the host and its usual arguments as "$@"."""
    command = [HOST, "--queue", "noop", "--plugin", module("noop"), *arguments]
    return subprocess.run(
        ["bash", "-c", script, "bash", *map(str, command)],
        env=environment(PGFLOW_DATABASE=database.url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def compiled(shared_database, tmp_path_factory):
    """A database that has the flow, so that a run can wait for a host."""
    done = shell('exec "$@"', shared_database, "--once", "--module-dir", tmp_path_factory.mktemp("copies"))
    assert done.returncode == 0, done.stderr
    return shared_database


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_host_started_with_closed_descriptors_does_its_work(compiled, tmp_path, closed):
    run = compiled.start_flow("noop")

    done = shell(f'exec "$@" {closed}', compiled, "--once", "--module-dir", tmp_path)

    assert done.returncode == 0, done.stderr
    assert compiled.run(run).status == "completed"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_ctl_started_with_closed_descriptors_answers_by_its_status(shared_database, closed):
    line = f'exec "$@" {closed}'

    runs = subprocess.run(["bash", "-c", line, "bash", CTL, "--database", shared_database.url, "runs"], timeout=PATIENCE)
    nobody = shared_database.url.replace(os.environ["PGUSER"] + "@", "nobody_of_that_name@")
    failed = subprocess.run(["bash", "-c", line, "bash", CTL, "--database", nobody, "runs"], timeout=PATIENCE)

    assert runs.returncode == 0
    assert failed.returncode == 78


# The reader of the pipe is gone before the host begins.
@pytest.mark.parametrize("sink", ["exec 2>/dev/full", "exec 2> >(exec true); wait $!"])
def test_log_that_nobody_takes_changes_nothing(compiled, tmp_path, sink):
    run = compiled.start_flow("noop")

    done = shell(f'{sink}; exec "$@"', compiled, "--once", "--module-dir", tmp_path)
    refused = shell(f'{sink}; exec "$@"', compiled, "--plugin", "/nonexistent.so", "--module-dir", tmp_path)

    assert done.returncode == 0
    assert compiled.run(run).status == "completed"
    assert refused.returncode == 78


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_answer_that_cannot_be_written_is_no_success(shared_database, option):
    assert shell(f'exec "$1" {option} >/dev/full', shared_database).returncode == 70


def test_host_below_nohup_outlives_its_terminal(shared_hosts):
    with ignored(signal.SIGHUP):
        host = shared_hosts.start(queue="noop", plugins=["noop"])

    host.signal(signal.SIGHUP)
    # Signals are taken in the order of their numbers: this line comes after a HUP that was heeded.
    host.signal(signal.SIGUSR1)
    state = host.log.wait("state")

    assert state["msg"] == "running"
    host.stop()


def test_low_limit_on_descriptors_is_raised_for_the_host_and_kept_for_handlers(compiled, tmp_path):
    run_host(
        "--plugin", module("faults"), "--once", "--module-dir", tmp_path, env={"PGFLOW_DATABASE": compiled.url}
    ).check_returncode()
    run = compiled.start_flow("faults", {"fault": "self"})

    limited = 'ulimit -Sn 40; exec "$1" "${@:6}"'
    done = shell(limited, compiled, "--plugin", module("faults"), "--once", "--module-dir", tmp_path)

    assert done.returncode == 0, done.stderr
    assert compiled.task(run, "self").output["filesLimit"] == 40


def test_concurrency_beyond_the_limit_on_descriptors_is_refused(compiled, tmp_path):
    limited = 'ulimit -n 200; exec "$@"'

    done = shell(limited, compiled, "--concurrency", "100", "--once", "--module-dir", tmp_path)

    assert done.returncode == 78
    assert "--concurrency 100" in done.stderr and "the hard limit is 200" in done.stderr


class ignored:
    """Programs started meanwhile ignore the signal."""

    def __init__(self, number):
        self._number = number

    def __enter__(self):
        self._before = signal.signal(self._number, signal.SIG_IGN)

    def __exit__(self, *_):
        signal.signal(self._number, self._before)


@pytest.mark.parametrize("folder", ["/proc/nothing-can-be-made-here", "/dev/null/x"])
def test_folder_that_takes_no_copies_is_named_with_the_remedy(folder):
    done = run_host("--plugin", module("noop"), "--module-dir", folder)

    assert done.returncode == 78
    assert folder.split("/")[1] in done.stderr and "choose another folder with --module-dir" in done.stderr
