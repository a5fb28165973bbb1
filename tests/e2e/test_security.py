"""What a handler's process has, and has not. docs/security.md names these tests."""

import os
import pathlib
import subprocess

import pytest
from conftest import hosts_on

from lib.paths import SANITIZED, VALGRIND
from lib.programs import status_of

PLANTED = "planted-4711-password"
NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads another process's memory or changes users")
# Under valgrind the pid is valgrind's, and what it maps.
pytestmark = pytest.mark.skipif(VALGRIND, reason="looks at the processes themselves")


def as_other_user(folder):
    """The command to become the user of the test's server, for whom the socket can be reached; he gets the folder."""
    if os.geteuid() != 0:
        return []
    server = os.stat(os.environ["PGHOST"])
    os.chown(folder, server.st_uid, server.st_gid)
    return ["setpriv", "--reuid", str(server.st_uid), "--regid", str(server.st_gid), "--clear-groups"]


def with_password(database):
    return database.url.replace("postgres@", f"postgres:{PLANTED}@")


def runner_of(host):
    (pid,) = host.children()
    return pid


def memory_holds(pid, text):
    """Whether any readable page of the process has these bytes."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if not rights.startswith("r") or "[v" in line:
                continue
            begin, end = (int(part, 16) for part in span.split("-"))
            # The shadow of a sanitizer is terabytes of nothing.
            if end - begin > 1 << 30:
                continue
            try:
                memory.seek(begin)
                if text.encode() in memory.read(end - begin):
                    return True
            except OSError:
                continue
    return False


@needs_root
def test_no_credential_is_in_the_memory_or_environment_of_a_runner(database, hosts, tmp_path):
    config = tmp_path / "host.conf"
    config.write_text(f"database = {with_password(database)}\n")
    host = hosts.start(
        "--config", config, queue="faults", plugins=["faults"], env={"PGPASSWORD": PLANTED, "DATABASE_URL": with_password(database)}
    )
    run = database.start_flow("faults", {"fault": "self"})
    database.wait_run(run)
    runner = runner_of(host)

    assert database.task(run, "self").output["pid"] == runner
    assert PLANTED.encode() not in pathlib.Path(f"/proc/{runner}/environ").read_bytes()
    assert PLANTED.encode() not in pathlib.Path(f"/proc/{runner}/cmdline").read_bytes()
    assert not memory_holds(runner, PLANTED)
    # The search does find what is there: the host needs the password to connect again.
    assert memory_holds(host.pid, PLANTED)


@pytest.mark.skipif(SANITIZED, reason="LeakSanitizer must look into its own process, so the host stays readable")
def test_a_process_of_the_same_user_cannot_look_into_the_host(database, public_folder):
    wrapper = as_other_user(public_folder)
    with hosts_on(database, public_folder) as hosts:
        host = hosts.start(queue="noop", plugins=["noop"], wrapper=wrapper)

        for name in ("environ", "mem", "maps"):
            read = subprocess.run([*wrapper, "head", "-c", "1", f"/proc/{host.pid}/{name}"], capture_output=True, check=False)
            assert read.returncode != 0 and b"Permission denied" in read.stderr, name
        own = subprocess.run([*wrapper, "head", "-c", "1", "/proc/self/environ"], capture_output=True, check=False)
        assert own.returncode == 0, "the kernel does let a process see itself"


def test_a_runner_inherits_no_descriptor(database, hosts, tmp_path):
    (tmp_path / "open file").write_text("x")
    host = hosts.start(queue="faults", plugins=["faults"], wrapper=["sh", "-c", 'exec 9<"open file"; exec "$@"', "sh"])
    run = database.start_flow("faults", {"fault": "self"})
    database.wait_run(run)
    open_in_host = {os.readlink(entry) for entry in pathlib.Path(f"/proc/{host.pid}/fd").iterdir()} if os.geteuid() == 0 else set()
    runner = runner_of(host)
    links = {int(entry.name): os.readlink(entry) for entry in pathlib.Path(f"/proc/{runner}/fd").iterdir()}

    if open_in_host:
        assert any(link.endswith("/open file") for link in open_in_host), "it is open in the host"
    # stdin, its two pipes, its socket, its module; then what it opened for itself: /proc, and its folder.
    folder = os.readlink(f"/proc/{runner}/cwd")
    assert links[0] == "/dev/null"
    assert links[1].startswith("pipe:") and links[2].startswith("pipe:")
    sockets = [fd for fd, link in links.items() if link.startswith("socket:")]
    assert len(sockets) == 1, links
    for fd, link in links.items():
        assert fd <= 2 or fd in sockets or link.startswith("/proc/") or link in (links[1], links[2], folder) or link == "/memfd:faults.so (deleted)", links


def test_a_runner_gains_no_privileges_and_has_its_limits(database, hosts):
    host = hosts.start("--handler-memory", "300", queue="faults", plugins=["faults"])
    runner = runner_of(host)
    limits = pathlib.Path(f"/proc/{runner}/limits").read_text()

    assert status_of(runner)["NoNewPrivs"] == "1"
    core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert core.split()[4:6] == ["0", "0"], core
    if not SANITIZED:
        space = next(line for line in limits.splitlines() if line.startswith("Max address space"))
        assert space.split()[3:5] == [str(300 << 20)] * 2, space


@needs_root
def test_handler_user_leaves_a_handler_nothing_of_root(database, public_folder):
    with hosts_on(database, public_folder) as hosts:
        host = hosts.start(
            "--handler-user", "nobody", queue="faults", plugins=["faults"], wrapper=["setpriv", "--groups", "0,4711"]
        )
        run = database.start_flow("faults", {"fault": "self"})
        database.wait_run(run)
        status = status_of(runner_of(host))

        assert database.task(run, "self").output["uid"] == NOBODY
        assert status["Uid"].split() == [str(NOBODY)] * 4
        assert len(set(status["Gid"].split())) == 1 and status["Gid"].split()[0] != "0"
        assert status_of(host.pid)["Groups"].split() == ["0", "4711"], "the host has them"
        assert status["Groups"].split() == status["Gid"].split()[:1]
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(status[kind], 16) == 0, kind


def test_handler_user_without_root_is_refused(database, public_folder):
    wrapper = as_other_user(public_folder)
    with hosts_on(database, public_folder) as hosts:
        host = hosts.start("--handler-user", "root", queue="faults", plugins=["faults"], wait=False, wrapper=wrapper)

        assert host.wait() in (64, 78)
        assert "--handler-user" in host.said()


@pytest.fixture
def worker_login(database):
    """The URL of a login that has pgflow_worker and nothing else."""
    role = f"host_{database.name}"
    database.rows(f"create role {role} login in role pgflow_worker")
    yield database.url.replace("postgres@", f"{role}@")
    database.rows(f"drop role {role}")


def test_a_host_with_the_rights_of_a_worker_does_its_whole_job(database, hosts, worker_login):
    env = {"PGFLOW_DATABASE": worker_login}
    # It deploys, activates, registers, claims; results, retries, maps, releases; stands by, and serves again.
    host = hosts.start("--drain-timeout", "1", queue="faults", plugins=["faults"], env=env)
    hosts.start(queue="fan", plugins=["fan"], env=env)
    database.wait_run(database.start_flow("faults", {"fault": "echo"}))
    database.wait_run(database.start_flow("faults", {"fault": "error_text"}), "failed")
    database.wait_run(database.start_flow("faults", {"fault": "segv"}), "failed")
    database.wait_run(database.start_flow("fan", {"n": 5}))
    database.rows("select pgflow.disable_worker_functions('{pgflow-host/faults}')")
    host.log.wait("standby")
    waiting = database.start_flow("faults", {"fault": "echo"})
    database.rows("select pgflow.enable_worker_function('pgflow-host/faults')")
    database.wait_run(waiting)
    slow = database.start_flow("faults", {"fault": "sleep", "ms": 60000})
    database.until("select exists (select from pgflow.step_tasks where run_id = %s and status = 'started')", slow)
    host.stop()

    assert database.task(slow, "sleep").status == "queued"
    assert database.value("select count(*) from pgflow.workers where stopped_at is not null") >= 1
    assert "42501" not in host.said() and "permission denied" not in host.said()


def test_a_host_with_the_rights_of_a_worker_pauses_itself_at_unsupported_work(database, hosts, worker_login):
    env = {"PGFLOW_DATABASE": worker_login}
    hosts.start("--activate", "manual", queue="routed_main", plugins=["routed_v1", "routed_v2"], env=env).stop()
    host = hosts.start("--function", "narrow", queue="routed_main", plugins=["routed_v1"], env=env)

    database.start_flow("routed_v2")

    assert host.wait() == 78
    assert database.value("select not enabled and paused_at is not null from pgflow.worker_functions where function_name = 'narrow'")
    assert database.value("select bool_and(attempts_count = 0) from pgflow.step_tasks")
