"""What a handler may answer, what it may not, and how large things get."""

import json

import pytest

REFUSED = {
    "not_json": "JSON",
    "cut_short": "JSON",
    "two_values": "JSON",
    "leading_zero": "JSON",
    "nul_byte": "",
    "nul_escape": "u0000",
    "bad_utf8": "UTF-8",
    "overlong_utf8": "UTF-8",
    "lone_surrogate": "surrogate",
    "control_character": "",
    "nested": "512",
    "over_limit": "16 MiB",
}


@pytest.fixture(scope="module")
def host(shared_hosts):
    return shared_hosts.start("--concurrency", "4", queue="faults", plugins=["faults"])


def start(database, fault, **more):
    return database.start_flow("faults", {"fault": fault, **more})


@pytest.mark.parametrize("fault", REFUSED)
def test_output_that_cannot_be_stored_fails_the_attempt_and_says_why(shared_database, host, fault):
    run = start(shared_database, fault)

    shared_database.wait_run(run, "failed")
    task = shared_database.task(run, fault)
    assert task.attempts_count == 2
    assert REFUSED[fault] in task.error_message
    assert task.output is None


def test_number_beyond_numeric_is_refused_by_the_database_alone(shared_database, host):
    run = start(shared_database, "number_overflow")
    beside = start(shared_database, "echo", n=1)

    shared_database.wait_run(run, "failed")
    assert shared_database.task(run, "number_overflow").error_message
    shared_database.wait_run(beside)
    assert shared_database.task(beside, "echo").attempts_count == 1


def test_nothing_written_is_null(shared_database, host):
    run = start(shared_database, "nothing")

    shared_database.wait_run(run)
    assert shared_database.value(
        "select output::text from pgflow.step_tasks where run_id = %s and step_slug = 'nothing'", run
    ) == "null"


def test_depth_of_exactly_512_is_stored(shared_database, host):
    run = start(shared_database, "nested", depth=512)

    shared_database.wait_run(run)


def test_integers_beyond_2_to_53_pass_unchanged(shared_database, host):
    run = start(shared_database, "big_integers")

    shared_database.wait_run(run)
    text = shared_database.value(
        "select output::text from pgflow.step_tasks where run_id = %s and step_slug = 'big_integers'", run
    )
    assert json.loads(text) == [9007199254740993, -9223372036854775808, 18446744073709551615, 123456789012345678901234567890]


def test_integers_beyond_2_to_53_in_the_input_pass_unchanged(shared_database, host):
    run = start(shared_database, "echo", n=9007199254740993)

    shared_database.wait_run(run)
    assert shared_database.task(run, "echo").output["n"] == 9007199254740993


@pytest.mark.parametrize("fault, kept", [("error_nul", "after"), ("error_bad_utf8", ""), ("error_long", "")])
def test_any_error_text_is_stored_cleaned_and_bounded(shared_database, host, fault, kept):
    run = start(shared_database, fault)

    shared_database.wait_run(run, "failed")
    text = shared_database.task(run, fault).error_message
    assert kept in text
    assert 0 < len(text.encode()) <= 4096


def test_input_of_10_mib_works(shared_database, host):
    text = "x" * (10 * 1024 * 1024)

    run = start(shared_database, "echo", text=text)

    shared_database.wait_run(run)
    assert shared_database.task(run, "echo").output["text"] == text


def test_input_over_the_limit_fails_its_own_task_at_once_and_no_other(shared_database, host):
    run = start(shared_database, "echo", text="x" * (17 * 1024 * 1024))
    beside = start(shared_database, "echo", n=1)

    shared_database.wait_run(run, "failed")
    task = shared_database.task(run, "echo")
    assert task.attempts_count == 1
    assert "16 MiB" in task.error_message
    shared_database.wait_run(beside)
