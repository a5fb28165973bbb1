"""Modules that cannot be served are refused at start, by name, before any database change."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from lib.compiled import build
from lib.paths import HOST, PATIENCE, SANITIZED, SOURCE, VALGRIND, module
from lib.programs import environment, run_ctl, run_host, wait_gone

BAD_MODULES = {
    "no_entry": ["pgflow_module_v1"],
    "wrong_magic": ["magic", "0x21212121"],
    "wrong_major": ["2"],
    "needs_minor": ["99"],
    "bad_descriptor": ["slug", "not a slug"],
    "ctor_crashes": ["SIGABRT"],
    "ctor_exits": ["exit"],
    "ctor_scribbles": ["file descriptors that are not its own"],
    "ctor_answers": ["exited with status 1 while it was loaded"],
    "unresolved": ["pgf_test_symbol_that_nobody_has"],
    "truncated": [],
    "not_elf": ["ELF"],
    "empty": [],
}


def start(database, *modules, queue, folder, options=()):
    plugins = [part for name in modules for part in ("--plugin", name)]
    return run_host(
        "--queue", queue, "--module-dir", folder / "copies", "--log-format", "json", *plugins, *options,
        env={"PGFLOW_DATABASE": database.url},
    )


def refused(result, *words):
    assert result.returncode == 78, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def unchanged(database):
    assert database.value("select count(*) from pgflow.flows") == 0
    assert database.value("select count(*) from pgflow.workers") == 0


@pytest.mark.parametrize("name", BAD_MODULES)
def test_bad_module_is_refused_by_name(database, tmp_path, name):
    result = start(database, module("noop"), module(name), queue="noop", folder=tmp_path)

    refused(result, f"{name}.so", *BAD_MODULES[name])
    unchanged(database)


def test_missing_file_is_refused_by_name(database, tmp_path):
    result = start(database, tmp_path / "nowhere.so", queue="noop", folder=tmp_path)

    refused(result, "nowhere.so", "No such file")
    unchanged(database)


def test_module_is_never_searched_for(database, tmp_path):
    result = start(database, "noop.so", queue="noop", folder=tmp_path)

    refused(result, "noop.so")


def test_same_slug_in_two_files_names_both(database, tmp_path):
    result = start(database, module("noop"), module("noop_twin"), queue="noop", folder=tmp_path)

    refused(result, "noop.so", "noop_twin.so", "noop")
    unchanged(database)


def test_same_file_twice_is_refused(database, tmp_path):
    link = tmp_path / "again.so"
    link.symlink_to(module("noop"))

    result = start(database, module("noop"), link, queue="noop", folder=tmp_path)

    refused(result, "noop.so", "again.so")


def test_module_without_a_step_on_the_queue_is_named_with_its_queues(database, tmp_path):
    result = start(database, module("noop"), module("routed_v1"), queue="noop", folder=tmp_path)

    refused(result, "routed_v1", "routed_main", "routed_mail", "noop")
    unchanged(database)


def test_unknown_queue_offers_the_nearest_and_the_declared_ones(database, tmp_path):
    result = start(database, module("routed_v1"), queue="routed_mian", folder=tmp_path)

    assert result.returncode == 64, result.stderr
    for word in ("routed_mian", "routed_main", "routed_mail"):
        assert word in result.stderr
    unchanged(database)


def test_writable_module_is_refused_with_the_remedy(database, tmp_path):
    copy = tmp_path / "noop.so"
    shutil.copy(module("noop"), copy)
    os.chmod(copy, 0o666)

    result = start(database, copy, queue="noop", folder=tmp_path)

    refused(result, "noop.so", "chmod go-w")


def test_writable_module_is_accepted_when_asked_for(database, tmp_path):
    copy = tmp_path / "noop.so"
    shutil.copy(module("noop"), copy)
    os.chmod(copy, 0o666)

    result = start(database, copy, queue="noop", folder=tmp_path, options=["--allow-writable-plugins", "--once"])

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name, words", [("init_fails", "dictionary /nonexistent/words is missing"),
                                         ("init_crashes", "SIGABRT")])
def test_module_whose_init_fails_is_held_and_its_tasks_wait_uncounted(database, hosts, name, words):
    host = hosts.start(queue=name, plugins=[name], wait=False)

    host.log.wait("module_held", flow=name)
    run = database.start_flow(name)
    host.log.wait("ready")

    assert words in host.said()
    host.stop()
    task = database.task(run, "only")
    assert (task.status, task.attempts_count) == ("queued", 0)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer takes over the crash")
def test_module_that_recovers_is_served_again(database, hosts, tmp_path):
    moody = tmp_path / "moody"
    moody.touch()
    host = hosts.start(
        "--pass-env", "MOODY_FILE", queue="init_moody", plugins=["init_moody"], env={"MOODY_FILE": str(moody)}, wait=False
    )
    host.log.wait("module_held")
    run = database.start_flow("init_moody")

    moody.unlink()

    database.wait_run(run)
    assert database.task(run, "only").attempts_count == 1


def test_running_host_keeps_the_bytes_it_inspected(database, hosts, tmp_path):
    copy = tmp_path / "noop.so"
    shutil.copy(module("noop"), copy)
    os.chmod(copy, 0o755)
    host = hosts.start(queue="noop", plugins=[str(copy)])

    copy.write_bytes(b"overwritten while it runs")

    run = database.start_flow("noop")
    database.wait_run(run)
    assert host.running()


@pytest.fixture
def private(tmp_path):
    """A copy of a module, in a folder that a test may spoil."""

    def make(name):
        copy = tmp_path / "private" / f"{name}.so"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(module(name), copy)
        os.chmod(copy, 0o755)
        return copy

    return make


def kill_runners(host):
    runners = host.children()
    assert runners
    for runner in runners:
        os.kill(runner, signal.SIGKILL)
        wait_gone(runner)


def outcome(database, flow):
    return database.wait_run(database.start_flow(flow)).output


def test_new_runners_start_after_a_cleaner_took_every_folder(database, hosts, private, tmp_path):
    shutil.copy(module("with_helper").parent / "libpgf_test_helper.so", private("with_helper").parent)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    host = hosts.start(
        queue="with_helper", plugins=[str(private("with_helper"))], env={"TMPDIR": temporary}
    )
    before = outcome(database, "with_helper")

    for folder in (temporary, tmp_path / "module-copies", tmp_path / "private"):
        shutil.rmtree(folder)
    kill_runners(host)

    assert outcome(database, "with_helper") == before == {"only": 42}


def test_nobody_changes_the_bytes_that_the_next_runner_maps(database, hosts, private, tmp_path):
    """What a handler may try that runs as the user of its host; the tests, often root, may do more."""
    other = module("noop_twin").read_bytes()
    file = private("noop")
    host = hosts.start(queue="noop", plugins=[str(file)])
    before = outcome(database, "noop")
    sealed = [
        entry
        for pid in (host.pid, *host.children())
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()
        if os.readlink(entry).startswith("/memfd:noop.so")
    ]
    assert len(sealed) >= 2, "the host keeps it, and a runner has it"

    for entry in sealed:
        for change in (lambda: entry.open("r+b", buffering=0).write(other), lambda: os.truncate(entry, 0)):
            with pytest.raises(PermissionError):
                change()
    (copy,) = (tmp_path / "module-copies").glob("*/noop.so")
    for spoiled in (copy, file):
        spoiled.unlink()
        spoiled.write_bytes(b"other code")
    kill_runners(host)

    assert outcome(database, "noop") == before


def test_link_that_somebody_planted_in_tmpdir_is_not_followed(database, tmp_path):
    """It would have a host of root delete what lies behind it."""
    temporary, target = tmp_path / "tmp", tmp_path / "target"
    for folder in (temporary, target / ("0123456789abcdef" * 4), target / ".new-copy"):
        folder.mkdir(parents=True)
    (target / ("0123456789abcdef" * 4) / "precious").touch()
    (temporary / f"pgflow-{os.geteuid()}").symlink_to(target)
    before = sorted(target.rglob("*"))

    done = run_host(
        "--queue", "noop", "--plugin", module("noop"), "--once", "--log-format", "json",
        env={"PGFLOW_DATABASE": database.url, "TMPDIR": temporary},
    )

    assert done.returncode == 0, done.stderr
    assert "no_module_copy" in done.stderr and "a link is not followed" in done.stderr
    assert sorted(target.rglob("*")) == before


@pytest.mark.skipif(SANITIZED or VALGRIND, reason="the kernel's answer, not our memory")
def test_kernel_that_forbids_code_in_memory_is_named_with_the_remedy(database):
    """In a PID namespace, which has a setting of its own since Linux 6.6."""
    setting = pathlib.Path("/proc/sys/vm/memfd_noexec")
    if os.geteuid() != 0 or not setting.exists():
        pytest.skip("needs root and Linux 6.3")
    forbid = f'echo 2 >{setting} || exit 99; exec "$@"'
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", forbid, "sh",
         HOST, "--queue", "noop", "--plugin", module("noop"), "--once", "--log-format", "json"],
        env=environment(PGFLOW_DATABASE=database.url), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no PID namespace here: {done.stderr}")

    refused(done, "noop.so", "vm.memfd_noexec = 2", "sysctl -w vm.memfd_noexec=1")
    unchanged(database)


FLOW = """
#include <pgflow/module.h>
static int32_t run(void *state, const pgf_call *call) { return state != NULL && call == NULL; }
static const pgf_step steps[] = {{.slug = "only", .run = run}};
PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "flow", .steps = PGF_ARRAY(steps)};
"""


@pytest.mark.parametrize("library", ["libc.musl-x86_64.so.1", "libc.so"])
def test_module_built_for_musl_is_refused_with_the_remedy(tmp_path, library):
    libc = tmp_path / "libc"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", f"-Wl,-soname,{library}", "-o", libc], check=True)
    made = build(tmp_path, FLOW, "-Wl,--no-as-needed", libc)

    said = run_ctl("inspect", made)

    assert said.returncode == 78, said
    assert f"needs '{library}': it was built for musl" in said.stderr and "build it on a system with glibc" in said.stderr, said


def test_what_0_1_left_in_the_module_dir_goes_by_the_command_of_the_page(tmp_path):
    page = (SOURCE / "docs" / "operations" / "updating.md").read_text()
    command = re.search(r"`(find DIR [^`]*)`", page).group(1)
    of_0_1, of_this, other = tmp_path / ("a" * 64), tmp_path / ("b" * 64), tmp_path / "mine"
    for folder in (of_0_1, of_this, other):
        folder.mkdir()
    (of_0_1 / "flow.so").write_text("")
    (of_this / ".pgflow-copy").write_text("")

    subprocess.run(["sh", "-ec", command.replace("DIR", str(tmp_path), 1)], check=True)

    assert sorted(tmp_path.iterdir()) == [of_this, other]
