"""What pgflow-host says about its command line, environment and config file."""

import os
import re
import subprocess

from lib.paths import HOST, module
from lib.programs import run_host


def refused(result, *words):
    assert result.returncode == 64, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
    assert result.stdout == ""


def test_help_names_every_option_and_exit_status():
    result = run_host("--help")

    assert result.returncode == 0
    assert result.stderr == ""
    for option in "queue plugin database function concurrency check once exit-when-idle log-format config".split():
        assert f"--{option}" in result.stdout
    for status in ("64", "69", "70", "78"):
        assert status in result.stdout


def test_version_names_build_abi_and_libraries():
    result = run_host("--version")

    assert result.returncode == 0
    for word in ("pgflow-host", "module ABI", "schema", "libpq", "libuv", "cJSON", "OpenSSL", "microhttpd"):
        assert re.search(rf"^{word} +\d", result.stdout, re.M), word


def test_help_that_cannot_be_written_is_a_failure_and_one_that_nobody_reads_on_is_none():
    with open("/dev/full", "wb") as full:
        lost = subprocess.run([HOST, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert lost.returncode == 70 and "No space left" in lost.stderr

    reading, writing = os.pipe()
    os.close(reading)
    unread = subprocess.run([HOST, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert unread.returncode == 0 and unread.stderr == ""


def test_unknown_option_offers_the_nearest():
    refused(run_host("--concurency", "3"), "--concurency", "--concurrency")


def test_number_out_of_range_names_option_value_and_range():
    refused(run_host("--poll-interval", "9", "--plugin", "x.so"), "--poll-interval", "9", "10")


def test_start_without_module_asks_for_one():
    refused(run_host("--queue", "noop"), "--plugin")


def test_two_modules_without_queue_are_refused():
    result = run_host("--plugin", module("noop"), "--plugin", module("noop_again"))

    refused(result, "--queue", "noop", "noop_again")


def test_unknown_environment_option_is_refused_with_the_nearest():
    result = run_host("--plugin", module("noop"), env={"PGFLOW_CONCURENCY": "3"})

    refused(result, "PGFLOW_CONCURENCY", "PGFLOW_CONCURRENCY")


def test_unknown_name_in_config_file_is_refused_with_its_line(tmp_path):
    config = tmp_path / "host.conf"
    config.write_text("# ours\nqueue = noop\npluging = x.so\n")

    result = run_host("--config", config)

    refused(result, "host.conf", "3", "pluging", "plugin")


def test_command_line_wins_over_environment_and_that_over_the_file(tmp_path):
    config = tmp_path / "host.conf"
    config.write_text(f"queue = noop\nplugin = {module('noop')}\nconcurrency = 0\n")

    from_file = run_host("--config", config)
    from_environment = run_host("--config", config, env={"PGFLOW_CONCURRENCY": "-1"})
    from_command_line = run_host("--config", config, "--concurrency", "-2", env={"PGFLOW_CONCURRENCY": "-1"})

    refused(from_file, "host.conf", "concurrency", "0 ")
    refused(from_environment, "PGFLOW_CONCURRENCY", "-1")
    refused(from_command_line, "--concurrency", "-2")


def test_password_in_a_wrong_url_is_never_shown():
    result = run_host("--plugin", module("noop"), "--database", "postgresql://me:s3cret@/x?nonsense=1")

    assert result.returncode in (64, 78)
    assert "s3cret" not in result.stderr + result.stdout
