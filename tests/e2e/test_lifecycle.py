"""Stopping, standing by, being deprecated: a host leaves nothing half done."""

import contextlib
import os
import signal
import socket
import subprocess

import pytest

from lib.programs import run_host, wait_gone, wait_until
from lib.paths import PATIENCE, module


def faults(hosts, *options, **more):
    return hosts.start("--concurrency", "2", "--log-level", "debug", *options, queue="faults", plugins=["faults"], **more)


def start_sleep(database, host, ms, **more):
    """A run whose handler is at it: a claimed task alone may still wait for its runner."""
    run = database.start_flow("faults", {"fault": "sleep", "ms": ms, **more})
    host.log.wait("task_started", run=run)
    return run


def worker(database, pid):
    return database.row("select * from pgflow.workers where (info->>'pid')::int = %s order by started_at desc limit 1", pid)


def test_term_lets_handlers_finish_and_marks_the_worker_stopped(database, hosts):
    host = faults(hosts)
    run = start_sleep(database, host, 1500)

    host.stop()

    assert database.run(run).status == "completed"
    assert database.task(run, "sleep").attempts_count == 1
    assert worker(database, host.pid).stopped_at is not None


def test_term_gives_back_what_does_not_finish_in_time_uncounted(database, hosts):
    # Long enough for a busy machine to start the handler: what never ran is not counted as released.
    host = faults(hosts, "--drain-timeout", "3")
    run = start_sleep(database, host, 60000)

    host.stop()

    task = database.task(run, "sleep")
    assert (task.status, task.attempts_count, task.released_count) == ("queued", 0, 1)
    assert database.value("select vt <= clock_timestamp() from pgmq.q_faults")


def test_second_signal_ends_at_once_and_gives_back(database, hosts):
    host = faults(hosts, "--drain-timeout", "600")
    run = start_sleep(database, host, 60000)

    host.signal(signal.SIGTERM)
    host.log.wait("stopping")
    host.signal(signal.SIGTERM)

    assert host.wait() == 0
    assert database.task(run, "sleep").status == "queued"


@contextlib.contextmanager
def systemd(address):
    """The receiving end of sd_notify: gives a function that waits for a message with these words."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(address)
        end.settimeout(PATIENCE)

        def wait(words):
            while words not in (text := end.recv(4096).decode()):
                pass
            return text

        yield wait


@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_systemd_is_told_of_readiness_of_a_loop_that_turns_and_of_the_stop(database, hosts, tmp_path, kind):
    name = f"pgflow-notify-{tmp_path.name}"
    address, shown = (str(tmp_path / "n"), str(tmp_path / "n")) if kind == "file" else ("\0" + name, "@" + name)
    with systemd(address) as wait:
        host = faults(hosts, env={"NOTIFY_SOCKET": shown, "WATCHDOG_USEC": "200000"})

        assert "STATUS=claiming" in wait("READY=1")
        wait("WATCHDOG=1")
        wait("WATCHDOG=1")
        database.rows("select pgflow.disable_worker_functions('{pgflow-host/faults}')")
        assert "STATUS=standing by" in wait("READY=1")
        host.signal(signal.SIGTERM)
        wait("STOPPING=1")
        assert host.wait() == 0


@pytest.mark.parametrize("first", ["host", "runner"])
def test_term_to_host_and_runners_at_once_burns_no_attempt(database, hosts, first):
    host = faults(hosts)
    run = start_sleep(database, host, 60000)
    runners = host.children()

    for pid in [host.pid, *runners] if first == "host" else [*runners, host.pid]:
        os.kill(pid, signal.SIGTERM)

    assert host.wait() == 0
    task = database.task(run, "sleep")
    assert (task.status, task.attempts_count, task.released_count) == ("queued", 0, 1)


def test_no_runner_outlives_its_host(database, hosts):
    host = faults(hosts)
    start_sleep(database, host, 60000)
    runners = host.children()

    host.kill()

    assert runners
    for pid in runners:
        wait_gone(pid)


def leave_a_family(database, host):
    """Processes in sessions of their own below an orphan; gives the pid of the last."""
    run = database.start_flow("faults", {"fault": "fork", "session": 1, "double": 1, "chain": 3})
    database.wait_run(run)
    return database.run(run).output["fork"]["pid"]


def test_clean_stop_ends_what_handlers_left_in_sessions_of_their_own(database, hosts):
    host = faults(hosts)
    left = leave_a_family(database, host)
    os.kill(left, 0)

    host.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)


def in_namespace(host, *command):
    """Run it where the host is PID 1; the given process is that of unshare(1)."""
    inside = host.children()[0]
    return ["nsenter", "--target", str(inside), "--pid", "--mount", *command]


@pytest.mark.skipif(
    subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], check=False, capture_output=True).returncode != 0,
    reason="this user cannot make a PID namespace",
)
def test_pid_1_ends_what_handlers_left_and_nothing_else(database, hosts):
    host = faults(hosts, wrapper=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
    # Somebody else's process that lost its parent there, as after "docker exec".
    stranger = "sleep 599 >/dev/null 2>&1 </dev/null & echo $!"
    stranger = subprocess.run(in_namespace(host, "sh", "-c", stranger), check=True, capture_output=True, text=True).stdout.strip()
    left = leave_a_family(database, host)

    def runs(pid):
        return subprocess.run(in_namespace(host, "kill", "-0", str(pid)), check=False, capture_output=True).returncode == 0

    assert runs(left)
    database.wait_run(database.start_flow("faults", {"fault": "segv"}), "failed")

    wait_until(lambda: not runs(left))
    assert runs(stranger)


def test_once_serves_one_claim_and_exits(database, tmp_path):
    options = ["--queue", "noop", "--plugin", module("noop"), "--module-dir", tmp_path / "copies"]
    env = {"PGFLOW_DATABASE": database.url}
    empty = run_host(*options, "--once", env=env)
    runs = [database.start_flow("noop") for _ in range(3)]

    served = run_host(*options, "--once", "--batch-size", "2", env=env)

    assert (empty.returncode, served.returncode) == (0, 0), served.stderr
    states = sorted(database.run(run).status for run in runs)
    assert states == ["completed", "completed", "started"]


def test_exit_when_idle_serves_everything_first(database, tmp_path):
    options = ["--queue", "chain", "--plugin", module("chain"), "--module-dir", tmp_path / "copies"]
    env = {"PGFLOW_DATABASE": database.url}
    run_host(*options, "--once", env=env)
    runs = [database.start_flow("chain", {"ms": 100}) for _ in range(3)]

    result = run_host(*options, "--exit-when-idle", "1", env=env)

    assert result.returncode == 0, result.stderr
    for run in runs:
        assert database.run(run).status == "completed"


def test_deprecated_host_finishes_and_exits_0(database, hosts):
    host = faults(hosts)
    run = start_sleep(database, host, 1500)

    database.rows("select pgflow.deprecate_workers(array['pgflow-host/faults'])")
    waiting = database.start_flow("faults", {"fault": "echo"})

    assert host.wait() == 0
    assert database.run(run).status == "completed"
    assert database.task(waiting, "echo").status == "queued"
    assert worker(database, host.pid).stopped_at is not None


def test_disabled_host_stands_by_and_serves_again_when_enabled(database, hosts):
    host = faults(hosts)
    database.rows("select pgflow.disable_worker_functions(array['pgflow-host/faults'])")
    host.log.wait("standby")
    run = database.start_flow("faults", {"fault": "echo"})
    assert worker(database, host.pid).standby

    database.rows("select pgflow.enable_worker_function('pgflow-host/faults')")

    database.wait_run(run)
    assert not worker(database, host.pid).standby


def test_host_of_a_disabled_function_stands_by_from_the_start(database, hosts):
    database.rows("select pgflow.insert_worker_function('pgflow-host/faults', 'process')")

    host = faults(hosts, wait=False)
    host.log.wait("standby")

    assert database.value("select count(*) from pgflow.flows") == 0
    assert "pgflowctl functions enable pgflow-host/faults" in host.said()
    database.rows("select pgflow.enable_worker_function('pgflow-host/faults')")
    host.log.wait("ready")
    host.stop()


def test_host_standing_by_ends_when_deprecated(database, hosts):
    database.rows("select pgflow.insert_worker_function('pgflow-host/faults', 'process')")
    host = faults(hosts, wait=False)
    host.log.wait("standby")

    database.rows("select pgflow.deprecate_workers(array['pgflow-host/faults'])")

    assert host.wait() == 0


def test_exit_if_disabled_exits_78(database, tmp_path):
    database.rows("select pgflow.insert_worker_function('pgflow-host/noop', 'process')")

    result = run_host(
        "--queue", "noop", "--plugin", module("noop"), "--module-dir", tmp_path / "copies", "--exit-if-disabled",
        env={"PGFLOW_DATABASE": database.url},
    )

    assert result.returncode == 78, result.stderr
    assert "pgflow-host/noop" in result.stderr and "disabled" in result.stderr


def test_cancelled_run_stops_its_handler(database, hosts):
    host = faults(hosts)
    run = start_sleep(database, host, 600000)

    database.rows("select pgflow.cancel_run(%s, 'changed our mind')", run)

    next_run = database.start_flow("faults", {"fault": "echo"})
    database.wait_run(next_run)
    database.until("select count(*) = 0 from pgflow.step_tasks where status = 'started'")
    assert database.run(run).status == "cancelled"
    host.stop()


def test_usr1_logs_the_state(database, hosts):
    host = faults(hosts)

    host.signal(signal.SIGUSR1)

    state = host.log.wait("state")
    assert state["queue"] == "faults"
