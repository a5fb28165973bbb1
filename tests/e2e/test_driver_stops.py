"""pgflowctl rollout M run: where it stops, what it leaves behind, and how another driver goes on."""

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading

import pytest

from lib.fleet import active
from lib.paths import CTL, PATIENCE
from lib.programs import environment, run_ctl, wait_gone, wait_until
from lib.rollout import build_ids, wait_all
from lib.site import Site

ROUTED = {"main": "routed_main", "mail": "routed_mail"}


@pytest.fixture
def site(database, tmp_path):
    made = Site(database, tmp_path)
    yield made
    made.end()


@pytest.fixture
def begun(site):
    """Hosts of V1 work, and the file of a deployment that would replace their code."""
    site.begin(ROUTED, ["routed_v1"])
    return site.sequence_a("A", ROUTED, ["routed_v1_patched"])


def start_hosts(site, release="next"):
    """What an operator does without hooks, once the old host is gone: a start beside it would start nothing."""
    for function in ROUTED:
        wait_until(lambda: site.hook("status", function) == "stopped")
        if release:
            shutil.copy(site.folder / f"{function}.conf.{release}", site.folder / f"{function}.conf")
        site.hook("start", function)


class Pooler:
    """What a pooler does to the start of a session: the process that it names is none of the server's."""

    def __init__(self, database):
        self._folder = tempfile.mkdtemp(prefix="pooler-", dir=os.environ["PGHOST"])
        name = f".s.PGSQL.{os.environ['PGPORT']}"
        self._server = os.path.join(os.environ["PGHOST"], name)
        self.url = database.url.replace(f"host={os.environ['PGHOST']}", f"host={self._folder}")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self._folder, name))
        self._listener.listen(4)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            threading.Thread(target=self._copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, True), daemon=True).start()

    @staticmethod
    def _copy(source, target, is_server):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                at = data.find(b"K\0\0\0\x0c") if is_server else -1
                target.sendall(data if at < 0 else data[:at + 5] + struct.pack("!i", 1) + data[at + 9:])
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self._listener.close()


@pytest.fixture
def pooled(database):
    made = Pooler(database)
    yield made.url
    made.close()


def rows_of(printed):
    return [json.loads(line) for line in printed.splitlines()]


def now(site, path):
    status = json.loads(site.ctl("rollout", path, "status", "--json").stdout)
    return next((row["name"] for row in status if row["state"] not in ("done", "later")), None)


# What can be asked of it.


def test_dry_run_shows_steps_and_commands_and_changes_nothing(site, database, begun):
    site.hooks(begun, stop=["touch", str(site.folder / "ran")], status=["touch", str(site.folder / "ran")])

    shown = site.run(begun, "--dry-run")
    machine = site.run(begun, "--dry-run", "--json", "--until", "fence")

    assert shown.returncode == 0, shown.stderr
    assert "would load the manifest" in shown.stdout and "would ask, then retire" in shown.stdout
    assert f"as far as needed, stop: touch {site.folder}/ran" in shown.stdout
    assert [(row["step"], row["event"]) for row in rows_of(machine.stdout)] == [("load", "would"), ("fence", "would")]
    assert not (site.folder / "ran").exists()
    assert database.value("select count(*) from pgflow.deployment_manifest") == 0


def test_dry_run_says_why_the_manifest_would_be_refused(site, begun):
    bad = site.write("bad", {**json.loads(begun.read_text()), "deployment": "bad", "scope": "some"})

    refused = site.run(bad, "--dry-run")
    run = site.run(bad)

    assert refused.returncode == 1 and "scope" in refused.stderr, refused.stderr
    assert run.returncode == 64 and "scope" in run.stderr, run.stderr


def test_until_ends_behind_that_step_and_the_next_run_goes_on(site, database, begun):
    site.hooks(begun)

    first = site.run(begun, "--until", "fence")
    fenced = now(site, begun)
    again = site.run(begun, "--until", "fence")
    rest = site.run(begun, "--json")

    assert (first.returncode, again.returncode, rest.returncode) == (0, 0, 0), first.stderr + again.stderr + rest.stderr
    assert fenced in ("deprecate", "wait", "deploy")  # the hosts end by themselves meanwhile
    told = rows_of(rest.stdout)
    assert [(row["step"], row["event"]) for row in told if row["event"] in ("did", "done")][-2:] == [("apply", "did"), ("", "done")]
    assert not {"load", "fence"} & {row["step"] for row in told}
    assert all(row["deployment"] == "A" and row["at"].endswith("Z") and isinstance(row["lines"], list) for row in told)
    waits = [row for row in told if row["event"] == "waits"]
    assert all(isinstance(row["waited_s"], int) and row["limit_s"] == 900 for row in waits)
    assert database.value("select bool_and(enabled) from pgflow.worker_functions")


@pytest.mark.parametrize("options, said", [
    (("run", "--until", "swich"), "did you mean switch"), (("status", "--yes"), "--yes goes with rollout MANIFEST.json run"),
    (("run", "--until", "load", "--then", "x"), "give one of them"), (("run", "--hooks", "/nowhere"), "cannot open"),
    (("run", "--timeout", "0"), "--timeout")])
def test_options_that_do_not_fit_are_wrong_use(site, begun, options, said):
    result = site.ctl("rollout", begun, *options)

    assert result.returncode == 64 and said in result.stderr, result.stderr


@pytest.mark.parametrize("hooks, said", [
    ("[]", "functions"), ('{"functions": {"fn": {"stop": "x", "start": "x"}}}', '"fn" needs exactly'),
    ('{"functions": {"fn": {"stop": "x", "start": [], "status": "x"}}}', "neither a text"),
    ('{"functions": {}, "timeout": 0.5}', "timeout"), ('{"functions": {}, "more": 1}', "nothing else"), ("{", "hooks")])
def test_file_that_is_no_hooks_file_is_wrong_use_before_anything_is_done(site, database, begun, hooks, said):
    begun.with_name("A.hooks.json").write_text(hooks)

    result = site.run(begun)

    assert result.returncode == 64 and said in result.stderr, result.stderr
    assert database.value("select count(*) from pgflow.deployment_manifest") == 0


def test_hooks_that_others_can_write_are_refused(site, begun):
    site.hooks(begun).chmod(0o666)

    result = site.run(begun)

    assert result.returncode == 64 and "hooks" in result.stderr, result.stderr


# One at a time.


def test_second_driver_is_told_who_is_at_work_and_abort_waits_for_its_end(site, database, begun):
    first = site.start_driver(begun)
    first.output.wait_text("start the hosts of function")

    second = site.run(begun)
    back = site.ctl("rollout", begun, "abort")
    first.kill()
    database.until("select count(*) = 0 from pg_locks where locktype = 'advisory' and objsubid = 1")
    then = site.ctl("rollout", begun, "abort")

    for refused in (second, back):
        assert refused.returncode == 1, refused.stdout
        assert 'another driver is at work on deployment "A": pgflowctl rollout ' + str(first.pid) in refused.stderr
        assert 'user "rollout_operator"' in refused.stderr and "server process" in refused.stderr
    assert then.returncode == 0, then.stderr


def test_connection_that_is_lost_takes_the_lock_anew_and_yields_to_another_driver(site, database, begun):
    first = site.start_driver(begun)
    first.output.wait_text("start the hosts of function")
    database.rows("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1")
    database.rows("select pg_advisory_lock(hashtextextended('pgflow rollout A', 0))")

    start_hosts(site)

    assert first.wait() == 1
    assert "another driver is at work" in first.said()
    assert not database.value("select bool_or(enabled) from pgflow.worker_functions")


def test_deployment_that_is_taken_back_meanwhile_ends_the_driver(site, database, begun):
    driver = site.start_driver(begun)
    driver.output.wait_text("start the hosts of function")

    database.rows("select pgflow.abort_manifest('A')")

    assert driver.wait() == 1
    assert 'deployment "A" is aborted' in driver.said()


# Without hooks, and what it asks.


def test_without_hooks_it_says_what_to_do_and_goes_on_when_that_is_so(site, database, begun):
    driver = site.start_driver(begun)
    driver.output.wait_text('start the hosts of function "mail" with the modules of the manifest: no hooks file names it')
    assert now(site, begun) == "deploy"

    start_hosts(site)

    assert driver.wait() == 0, driver.said()
    database.wait_run(database.start_flow("routed"))


def test_switch_wants_a_yes_of_somebody(site, database):
    site.begin(ROUTED, ["routed_v1"])
    path = site.sequence_a("both", ROUTED, ["routed_v1", "routed_v2"])
    site.hooks(path)

    nobody = site.run(path)
    at_switch = now(site, path), active(database, "routed")
    no = ask(site, path, "n")
    yes = ask(site, path, "y", "n")
    switched = now(site, path), active(database, "routed")
    end = ask(site, path, "yes")

    assert nobody.returncode == 1 and "give --yes" in nobody.stderr and "stopped at step switch" in nobody.stderr, nobody.stderr
    assert "new starts go where they went" in nobody.stderr.lower()
    assert no[0] == 1 and "Switch new starts now? [y/N]" in no[1]
    assert at_switch == ("switch", "routed_v1")
    assert yes[0] == 1 and "Retire the old version now? [y/N]" in yes[1]
    assert switched == ("retire", "routed_v2")
    assert end[0] == 0, end[1]
    assert now(site, path) is None


def ask(site, path, *answers):
    """Runs the driver at a terminal of its own; its status and what it said."""
    master, terminal = pty.openpty()
    driver = subprocess.Popen([CTL, "rollout", path, "run"], env=environment(**site.environment), stdin=terminal,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    os.close(terminal)
    os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
    said, _ = driver.communicate(timeout=PATIENCE * 4)
    os.close(master)
    return driver.returncode, said


# Hooks that do not do what they should.


def test_start_that_fails_ends_in_a_safe_state_from_which_abort_goes_back(site, database, begun):
    site.hooks(begun, start="echo no such image >&2; exit 7")
    run = database.start_flow("routed")
    database.wait_run(run)

    stopped = site.run(begun)
    late = database.start_flow("routed")
    state = now(site, begun)
    back = site.ctl("rollout", begun, "abort")
    start_hosts(site, None)

    assert stopped.returncode == 1, stopped.stdout
    assert 'start of function "mail": over after' in stopped.stdout and "status 7; it printed: no such image" in stopped.stdout
    assert stopped.stdout.count('start of function "mail"') == 3
    assert 'stopped at step deploy: function "mail": the hook "start" ran 3 times' in stopped.stderr
    assert "its work waits in the queues" in stopped.stderr and f"pgflowctl rollout {begun} abort" in stopped.stderr
    assert state == "deploy"
    assert back.returncode == 0, back.stderr
    wait_all(database, [run, late])


def test_host_that_refuses_to_start_ends_in_a_safe_state_and_the_mended_one_goes_on(site, database, begun):
    site.hooks(begun)
    broken = site.folder / "mail.conf.next"
    good = broken.read_text()
    broken.write_text(good.replace("plugin = ", "plugin = /nowhere"))

    stopped = site.run(begun)
    broken.write_text(good)
    mended = site.run(begun)

    assert stopped.returncode == 1, stopped.stdout
    # Whether the start or the next look at the host finds out is a matter of milliseconds.
    assert 'the hook "start" ran 3 times, and "status" says that its hosts do not run' in stopped.stderr, stopped.stderr
    assert mended.returncode == 0, mended.stderr
    database.wait_run(database.start_flow("routed"))


def test_hosts_of_other_code_are_stopped_and_started_three_times_and_never_serve(site, database):
    site.begin(ROUTED, ["routed_v1"])
    path = site.sequence_a("A", ROUTED, ["routed_v1_patched"])
    site.next_release(ROUTED, ["routed_v1"])
    site.hooks(path)

    stopped = site.run(path)

    assert stopped.returncode == 1, stopped.stdout
    assert 'the hook "start" ran 3 times, and its hosts carry other code than the manifest names' in stopped.stderr, stopped.stderr
    assert database.value("select count(*) from pgflow.worker_functions where enabled") == 0
    assert site.carried() == {}


def test_hook_that_hangs_is_ended_as_a_group_at_its_timeout(site, begun):
    site.hooks(begun, start=f"sleep 1000 & echo $! >{site.folder}/pid; wait")
    hooks = json.loads(begun.with_name("A.hooks.json").read_text())
    begun.with_name("A.hooks.json").write_text(json.dumps({**hooks, "timeout": 1}))

    stopped = site.run(begun)

    assert stopped.returncode == 1 and "not over after 1 s, its processes were ended" in stopped.stdout, stopped.stdout
    wait_gone(int((site.folder / "pid").read_text()))


def test_hook_of_a_driver_that_is_suspended_ends_all_the_same(site, begun):
    site.hooks(begun, start=f"echo $$ >{site.folder}/pid; sleep 1000")
    hooks = json.loads(begun.with_name("A.hooks.json").read_text())
    begun.with_name("A.hooks.json").write_text(json.dumps({**hooks, "timeout": 1}))
    driver = site.start_driver(begun)
    wait_until(lambda: (site.folder / "pid").exists() and (site.folder / "pid").read_text().strip())

    driver.signal(signal.SIGSTOP)

    wait_gone(int((site.folder / "pid").read_text()))
    driver.kill()


def test_wait_that_takes_too_long_says_what_for_and_leaves_the_facts_to_the_next(site, database, begun):
    stopped = site.run(begun, "--timeout", "1")
    site.hooks(begun)
    done = site.run(begun)

    assert stopped.returncode == 1 and "stopped at step deploy: waited for 1 s:" in stopped.stderr, stopped.stderr
    assert 'function "mail" has no live worker that stands by' in stopped.stderr
    assert done.returncode == 0, done.stderr


def test_status_that_nobody_understands_is_waited_for_and_no_reason_to_act(site, begun):
    site.hooks(begun, status="echo activating", start=f"touch {site.folder}/started")

    stopped = site.run(begun, "--timeout", "1")

    assert stopped.returncode == 1 and "says neither running, stopped nor partly; it printed: activating" in stopped.stderr
    assert not (site.folder / "started").exists()


# The end of a driver.


def test_killed_driver_takes_its_hook_along_before_its_lock_is_free(site, database, begun):
    fifo = site.folder / "begun"
    os.mkfifo(fifo)
    site.hooks(begun, start=f"trap '' TERM; echo $$ >{fifo}; while :; do sleep 1; done")
    driver = site.start_driver(begun)
    with open(os.open(fifo, os.O_RDWR), encoding="ascii") as begun_fifo:  # a hook that never comes is no hang
        select.select([begun_fifo], [], [], PATIENCE)
        hook = int(begun_fifo.readline())

    driver.signal(signal.SIGKILL)
    driver.wait()
    database.until("select pg_try_advisory_lock(hashtextextended('pgflow rollout A', 0))")

    assert not os.path.exists(f"/proc/{hook}") or open(f"/proc/{hook}/stat", encoding="ascii").read().split()[2] == "Z"
    database.rows("select pg_advisory_unlock_all()")
    site.hooks(begun)
    done = site.run(begun)
    assert done.returncode == 0, done.stderr


def test_host_that_a_hook_started_does_not_keep_the_lock(site, database, begun):
    site.hooks(begun)

    done = site.run(begun)

    assert done.returncode == 0, done.stderr
    wait_until(lambda: database.value("select count(*) from pg_locks where locktype = 'advisory' and objsubid = 1") == 0)
    assert site.hook("status", "mail") == "running"


def test_database_that_restarts_is_waited_for(site, database, begun):
    driver = site.start_driver(begun)
    driver.output.wait_text("start the hosts of function")
    database.server("restart")

    start_hosts(site)

    driver.output.wait_text("done")
    assert driver.wait() == 0, driver.said()


def test_pooler_is_refused(site, begun, pooled):
    result = run_ctl("rollout", begun, "run", env={**site.environment, "PGFLOW_DATABASE": pooled})

    assert result.returncode == 78 and "a pooler stands before" in result.stderr, result.stderr
