"""Modules that cannot be served are refused at start, by name, before any database change."""

import os
import shutil

import pytest

from lib.paths import SANITIZED, module
from lib.programs import run_host

BAD_MODULES = {
    "no_entry": ["pgflow_module_v1"],
    "wrong_magic": ["magic", "0x21212121"],
    "wrong_major": ["2"],
    "needs_minor": ["3"],
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
