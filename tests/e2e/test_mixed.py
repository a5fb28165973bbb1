"""What of release 0.1.0 and of this one may be mixed: the cells of the table in docs/operations/updating.md.

Schema and hosts: test_upgrade.py.
"""

import json
import os
import shutil
import signal

import pytest

from lib.paths import BUILD, CTL, HOST, SOURCE
from lib.programs import Hosts, run, wait_until
from lib.releases import Release

HELLO = BUILD / "plugins" / "hello.so"



@pytest.fixture(scope="module")
def release():
    return Release("0.1.0")


def programs(folder, host, runner):
    """A folder with a host and a runner of these builds, as an installation has them side by side."""
    folder.mkdir()
    shutil.copy(host / "bin" / "pgflow-host", folder)
    shutil.copy(runner / "bin" / "pgflow-runner", folder)
    return folder / "pgflow-host"


def serves_hello(database, program, plugin, folder):
    hosts = Hosts(database, folder, program=program)
    try:
        host = hosts.start(queue="hello", plugins=[plugin])
        run_id = database.start_flow("hello", {"name": "Ada"})
        database.wait_run(run_id)
        host.stop()
    finally:
        hosts.end()


def test_every_row_of_the_table_names_a_test():
    page = (SOURCE / "docs" / "operations" / "updating.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("## What may be mixed")[1].splitlines() if line.startswith("|")][2:]
    files = ("e2e/test_mixed.py", "e2e/test_upgrade.py", "sql/migrations/upgrade_test.py")
    written = "".join((SOURCE / "tests" / name).read_text(encoding="utf-8") for name in files)
    named = [row.rstrip(" |").rsplit("`", 2)[1] for row in rows]
    assert len(named) > 10
    assert [name for name in named if f"def {name}(" not in written] == []


# ---- Host and runner ----


def test_a_host_of_this_release_refuses_a_runner_of_the_one_before(release, database, tmp_path):
    program = programs(tmp_path / "bin", BUILD, release.build)

    done = run([program, "--queue", "hello", "--plugin", HELLO], {"PGFLOW_DATABASE": database.url}, 60, tmp_path)

    assert done.returncode == 78
    assert "the pgflow-runner that was found is of another release" in done.stderr
    assert "install both from one release" in done.stderr


def test_a_host_of_the_release_before_works_with_a_runner_of_this_one(release, database, tmp_path):
    program = programs(tmp_path / "bin", release.build, BUILD)
    serves_hello(database, program, HELLO, tmp_path)


# ---- Modules ----


def test_a_module_of_the_release_before_runs_on_this_host(release, database, tmp_path):
    serves_hello(database, HOST, release.module("hello"), tmp_path)


def test_a_module_of_this_release_runs_on_the_host_before(release, database, tmp_path):
    serves_hello(database, release.host, HELLO, tmp_path)


def test_inspection_of_a_module_is_the_same_by_both(release):
    of_each = [run([ctl, "inspect", release.module("hello"), "--json"], None, 60, None).stdout
               for ctl in (CTL, release.build / "bin" / "pgflowctl")]
    now, before = map(json.loads, of_each)
    assert missing(before, now) == []


# ---- The host program ----


def test_a_running_host_of_the_release_before_outlives_the_replacement_of_its_files(release, database, tmp_path):
    """What a package upgrade does: the files change under a running host, and its runners end."""
    program = programs(tmp_path / "bin", release.build, release.build)
    plugin = tmp_path / "hello.so"
    shutil.copy(release.module("hello"), plugin)
    hosts = Hosts(database, tmp_path, program=program)
    try:
        host = hosts.start(queue="hello", plugins=[str(plugin)])
        database.wait_run(database.start_flow("hello", {"name": "Ada"}))
        replace(BUILD / "bin" / "pgflow-runner", tmp_path / "bin" / "pgflow-runner")
        replace(HOST, program)
        replace(HELLO, plugin)

        for runner in host.children():
            os.kill(runner, signal.SIGKILL)
        wait_until(lambda: not host.children())
        database.wait_run(database.start_flow("hello", {"name": "Ada"}))

        host.stop()
        serves_hello(database, program, str(plugin), tmp_path)
    finally:
        hosts.end()


def replace(source, target):
    part = target.with_suffix(".part")
    shutil.copy(source, part)
    part.replace(target)


# ---- pgflowctl ----

# Each with what it needs of the database below.
ASKED = (
    ["runs"], ["run", "RUN"], ["workers"], ["functions"], ["aliases"], ["queue", "hello"], ["coverage", "hello"],
    ["drain", "hello"], ["migrate", "--status"],
)


@pytest.fixture
def work(database, hosts):
    """A run that has ended and one that has not, a worker at work."""
    hosts.start("--function", "greeter", queue="hello", plugins=[str(HELLO)])
    run_id = database.start_flow("hello", {"name": "Ada"})
    database.wait_run(run_id)
    return run_id


def missing(before, now, path="$"):
    """What the older document has and the newer has not, or as another type; lists by their first element."""
    if isinstance(before, dict):
        if not isinstance(now, dict):
            return [path]
        return [gap for key, value in before.items()
                for gap in ([f"{path}.{key}"] if key not in now else missing(value, now[key], f"{path}.{key}"))]
    if isinstance(before, list):
        if not isinstance(now, list) or bool(now) < bool(before):
            return [path]
        return missing(before[0], now[0], f"{path}[]") if before else []
    return [] if before is None or isinstance(now, type(before)) else [path]


@pytest.mark.parametrize("command", ASKED, ids=lambda command: command[0])
def test_json_of_pgflowctl_keeps_what_scripts_read(release, database, work, command):
    arguments = [work if word == "RUN" else word for word in command]
    answers = []
    for ctl in (release.build / "bin" / "pgflowctl", CTL):
        done = run([ctl, *arguments, "--json"], {"PGFLOW_DATABASE": database.url}, 60, None)
        assert done.stdout, done.stderr
        answers.append(json.JSONDecoder().raw_decode(done.stdout)[0])
    assert missing(*answers) == []


def test_pgflowctl_of_the_release_before_does_its_work_on_this_schema(release, database, work):
    env = {"PGFLOW_DATABASE": database.url}
    started = release.ctl("start", "hello", "--input", '{"name": "Ada"}', "--wait", env=env)
    assert started.returncode == 0, started.stderr
    for command in (["functions", "disable", "greeter"], ["functions", "enable", "greeter"], ["migrate"], ["prune", "--older-than", "1 day"]):
        done = release.ctl(*command, env=env)
        assert done.returncode == 0, (command, done.stderr)


def test_pgflowctl_of_this_release_on_the_schema_before_works_or_says_migrate(release, empty_database, tmp_path):
    env = {"PGFLOW_DATABASE": empty_database.url}
    assert release.ctl("migrate", env=env).returncode == 0
    hosts = release.hosts(empty_database, tmp_path)
    try:
        hosts.start("--function", "greeter", queue="hello", plugins=[str(HELLO)])
        run_id = empty_database.start_flow("hello", {"name": "Ada"})
        empty_database.wait_run(run_id)
        for command in (*ASKED, ["doctor"], ["functions", "disable", "greeter"], ["functions", "enable", "greeter"]):
            done = run([CTL, *(run_id if word == "RUN" else word for word in command)], env, 60, None)
            assert done.returncode in (0, 1) or "pgflowctl migrate" in done.stderr, (command, done.returncode, done.stderr)
    finally:
        hosts.end()
