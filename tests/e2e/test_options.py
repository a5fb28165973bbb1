"""What pgflow-host says about its command line, environment and config file."""

import os
import re
import subprocess

import pytest

from lib.paths import HOST, module
from lib.programs import environment, run_ctl, run_host


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


@pytest.fixture
def config(tmp_path):
    """A file in a folder of its own, which a test may open to others."""
    file = tmp_path / "etc" / "host.conf"
    file.parent.mkdir(mode=0o755)
    file.write_text(f"database = postgres://nobody:secret@127.0.0.1:1/none\nplugin = {module('noop')}\n")
    file.chmod(0o600)
    return file


def readers(config):
    """Everybody who believes a configuration file, by the option and by the environment."""
    yield run_host("--config", config, "--check", "--connect-timeout", "1")
    yield run_host("--check", "--connect-timeout", "1", env={"PGFLOW_CONFIG": config})
    yield run_ctl("workers", "--config", config)
    yield run_ctl("workers", env={"PGFLOW_CONFIG": config})


@pytest.mark.parametrize("mode", [0o666, 0o660, 0o602])
def test_config_that_others_can_write_is_refused_with_the_remedy(config, mode):
    config.chmod(mode)

    for done in readers(config):
        assert done.returncode == 64, done.stderr
        assert f"--config: '{config}' can be written by others than its owner (mode {mode:04o}): chmod go-w" in done.stderr
        assert "secret" not in done.stderr


def test_config_in_a_folder_that_others_can_write_is_refused_unless_it_is_sticky(config):
    config.parent.chmod(0o777)
    for done in readers(config):
        assert done.returncode == 64 and f"'{config.parent}' can be written" in done.stderr, done.stderr

    config.parent.chmod(0o1777)
    for done in readers(config):
        assert "can be written" not in done.stderr and done.returncode == 69, done.stderr


def test_config_of_somebody_else_is_refused(config):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.chown(config, 65534, -1)

    for done in readers(config):
        assert done.returncode == 64 and f"'{config}' belongs to user 65534" in done.stderr, done.stderr


def test_config_from_a_pipe_is_taken():
    done = subprocess.run(
        ["bash", "-c", f"exec {HOST} --config <(echo 'concurrency = 0')"], env=environment(), capture_output=True, text=True, check=False
    )

    assert done.returncode == 64 and "concurrency" in done.stderr and "pipe" not in done.stderr, done.stderr


def test_config_on_a_file_system_that_is_read_only_is_taken_whatever_its_mode(config):
    """As Kubernetes mounts one: the folder has mode 0777."""
    config.chmod(0o644)
    config.parent.chmod(0o777)
    script = f'mount --bind {config.parent} {config.parent} && mount -o remount,bind,ro {config.parent} || exit 99; exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", HOST, "--config", config, "--check", "--connect-timeout", "1"],
        env=environment(), capture_output=True, text=True, check=False,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr}")

    assert done.returncode == 69, done.stderr


def test_service_file_that_others_can_write_is_refused(tmp_path):
    services = tmp_path / "services"
    services.write_text("[app]\nhost=127.0.0.1\nport=1\n")
    services.chmod(0o666)
    given = {"PGSERVICEFILE": services}

    for env in ({**given, "PGSERVICE": "app"}, {**given, "PGFLOW_DATABASE": "postgres://?service=app"}):
        done = run_ctl("workers", env=env)
        assert done.returncode == 64 and f"service file: '{services}' can be written" in done.stderr, done.stderr
    unused = run_ctl("workers", env={**given, "PGFLOW_DATABASE": "postgres://127.0.0.1:1/none"})
    services.chmod(0o644)
    sound = run_ctl("workers", env={**given, "PGSERVICE": "app"})
    assert unused.returncode == sound.returncode == 69, unused.stderr + sound.stderr
