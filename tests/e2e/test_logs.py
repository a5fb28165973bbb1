"""The log: three formats, known keys, never a body."""

import json
import re

import pytest

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
    # A handler's own words may quote its input: they are kept in the database only.
    assert "the mailbox is full" not in host.said()


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
