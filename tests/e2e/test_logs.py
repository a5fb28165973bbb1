"""The log: three formats, known keys, never a body."""

import json
import os
import pty
import re
import subprocess

import pytest

from lib.paths import HOST, PATIENCE, module
from lib.programs import environment

SECRET = "not-for-the-log-7431"
TASK_KEYS = {"queue": str, "flow": str, "step": str, "run": str, "task": int, "attempt": int, "msg_id": int, "pid": int}


def serve(database, hosts, log_format):
    host = hosts.start(queue="faults", plugins=["faults"], log_format=log_format, wait=log_format == "json")
    database.until("select exists (select from pgflow.workers where not standby)")
    done = database.start_flow("faults", {"fault": "echo", "secret": SECRET})
    failed = database.start_flow("faults", {"fault": "error_text", "secret": SECRET})
    database.wait_run(done)
    database.wait_run(failed, "failed")
    host.stop()
    return host


@pytest.mark.parametrize("log_format", ["json", "logfmt", "pretty"])
def test_no_format_shows_a_body(database, hosts, log_format):
    host = serve(database, hosts, log_format)

    assert SECRET not in host.said()
    assert "faults" in host.said()


def test_json_lines_are_objects_with_the_documented_keys(database, hosts):
    host = serve(database, hosts, "json")

    for line in host.log.text:
        record = json.loads(line)
        assert {"ts", "level", "event", "msg"} <= set(record), line
    failures = host.log.find("handler_failed", step="error_text")
    assert len(failures) == 2
    for record in failures:
        for key, kind in TASK_KEYS.items():
            assert isinstance(record[key], kind), (key, record)
        assert record["queue"] == "faults" and record["flow"] == "faults"
        assert record["error"] == "the mailbox is full"


def test_retry_says_when_and_out_of_how_many_and_a_late_result_names_the_worker(database, hosts):
    host = hosts.start("--drain-timeout", "1", queue="faults", plugins=["faults"])
    database.rows("update pgflow.flows set opt_base_delay = 3, opt_max_attempts = 2 where flow_slug = 'faults'")
    run = database.start_flow("faults", {"fault": "error_text"})
    (retried,) = [host.log.wait("task_retrying")]
    assert (retried["attempt"], retried["max_attempts"], retried["retry_in_s"]) == (1, 2, 6)
    database.rows("select pgflow.cancel_run(%s)", run)

    slow = database.start_flow("faults", {"fault": "sleep", "ms": 1500})
    host.log.wait("registered")
    database.until("select exists (select from pgflow.step_tasks where run_id = %s and status = 'started')", slow)
    other = "00000000-0000-4000-8000-000000000001"
    database.rows("update pgflow.step_tasks set last_worker_id = %s, claim_no = claim_no + 1 where run_id = %s", other, slow)
    assert other in host.log.wait("task_late")["error"]


def test_journal_gets_the_level_of_each_line(database, tmp_path):
    """systemd reads <N> in front of a line that goes to its stream, which JOURNAL_STREAM names (sd-daemon(3))."""
    reader, writer = os.pipe()
    stream = os.fstat(writer)
    env = environment(PGFLOW_DATABASE=database.url, JOURNAL_STREAM=f"{stream.st_dev}:{stream.st_ino}")
    command = [HOST, "--plugin", module("noop"), "--once", "--log-format", "json"]
    assert subprocess.run(command, env=env, stderr=writer, check=False, timeout=PATIENCE).returncode == 0
    os.close(writer)
    with os.fdopen(reader) as lines:
        told = [re.fullmatch(r"<(\d)>(\{.*\})\n", line) for line in lines]
    levels = {"debug": 7, "info": 6, "warn": 4, "error": 3, "fatal": 2}
    assert told and all(int(line[1]) == levels[json.loads(line[2])["level"]] for line in told)


@pytest.mark.parametrize("no_color", [None, "1"])
def test_colours_are_for_terminals_that_want_them(no_color):
    near, far = pty.openpty()
    env = environment(**({"NO_COLOR": no_color} if no_color else {}))
    subprocess.run([HOST, "--plugin", "/nonexistent.so"], env=env, stderr=far, check=False, timeout=PATIENCE)
    os.close(far)
    said = os.read(near, 65536)
    os.close(near)
    assert b"nonexistent" in said and (b"\x1b[" in said) == (no_color is None)


def test_logfmt_lines_begin_with_time_level_and_event(database, hosts):
    host = serve(database, hosts, "logfmt")

    for line in host.log.text:
        assert re.match(r"ts=\S+ level=\w+ event=\w+ msg=", line), line


def test_level_error_leaves_out_the_rest(database, hosts):
    host = hosts.start("--log-level", "error", queue="noop", plugins=["noop"], wait=False)
    run = database.until("select exists (select from pgflow.workers where not standby)") and database.start_flow("noop")
    database.wait_run(run)

    host.stop()

    assert host.log.text == []


def test_output_of_a_handler_becomes_log_lines_of_its_task(database, hosts):
    host = hosts.start("--log-level", "debug", queue="faults", plugins=["faults"])
    run = database.start_flow("faults", {"fault": "print"})

    database.wait_run(run)

    host.stop()
    lines = [record for record in host.log.records if record.get("run") == run and record["event"] == "handler_output"]
    assert len(lines) >= 6
    for record in lines:
        assert record["step"] == "print" and record["task"] == 0 and record["pid"] > 0


@pytest.mark.parametrize("log_format", ["json", "logfmt", "pretty"])
def test_error_of_a_handler_turns_no_line_of_the_log(database, hosts, log_format):
    assert hosts.start("--once", queue="faults", plugins=["faults"]).wait() == 0
    run = database.start_flow("faults", {"fault": "error_escape"})
    host = hosts.start("--exit-when-idle", "1", queue="faults", plugins=["faults"], log_format=log_format, wait=False)
    database.wait_run(run, "failed")
    assert host.wait() == 0
    lines = [line for line in host.log.text if "[31mred" in line]

    assert lines
    for line in lines:
        assert "\u202e" not in line and "\x1b[31m" not in line and "\\u202e" in line, line
