"""pgflowctl exec: one handler in a real runner, without a database."""

import json
import os
import signal
import subprocess

import pytest

from lib.paths import BUILD, CTL, PATIENCE, SANITIZED, module
from lib.programs import Program, environment, run_ctl, wait_gone

HELLO = BUILD / "plugins" / "hello.so"


def execute(file, step, *options, **more):
    return run_ctl("exec", file, "--step", step, *options, **more)


def report(file, step, *options, **more):
    """What --json says, and the exit status."""
    result = execute(file, step, "--json", *options, **more)
    return json.loads(result.stdout), result.returncode


def test_result_goes_to_stdout_and_the_rest_to_stderr():
    result = execute(HELLO, "greet", "--input", '"Ada"')

    assert (result.returncode, result.stdout) == (0, '{"hello": "Ada"}\n')
    assert "greet completed" in result.stderr
    assert " ms; memory " in result.stderr


def test_step_with_dependencies_sees_the_object_that_it_is_given():
    result = execute(HELLO, "sign", "--input", '{"greet": {"hello": "Ada"}}')

    assert json.loads(result.stdout)["letter"] == {"greet": {"hello": "Ada"}}


def test_map_step_sees_one_element():
    answer, status = report(module("fan"), "each", "--input", "21")

    assert (answer["output"], status) == (42, 0)


def test_step_that_asks_for_it_sees_the_input_of_the_run(tmp_path):
    answer, status = report(
        module("wrapped"), "write_twice", "--input", '{"greet": 1}', "--flow-input", '{"who": "Ada"}'
    )

    assert (answer["output"], status) == ([1, 2], 0)


def test_input_comes_from_a_file_and_from_stdin(tmp_path):
    (tmp_path / "input.json").write_text('"from a file"')
    by_file = execute(HELLO, "greet", "--input", f"@{tmp_path}/input.json")
    by_stdin = subprocess.run(
        [CTL, "exec", HELLO, "--step", "greet", "--input", "-"],
        input='"from stdin"',
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert by_file.stdout == '{"hello": "from a file"}\n'
    assert by_stdin.stdout == '{"hello": "from stdin"}\n'


def test_only_step_of_a_module_needs_no_name():
    result = run_ctl("exec", module("noop"), "--json")

    assert json.loads(result.stdout)["step"] == "noop"


def test_handler_is_told_the_attempt_and_what_it_may_see_of_the_environment():
    attempt, _ = report(module("faults"), "segv_once", "--attempt", "2")
    seen, _ = report(module("faults"), "self", "--pass-env", "FIRST,SECOND", env={"FIRST": "1", "SECOND": "2", "THIRD": "3"})

    assert attempt["output"] == {"attempt": 2}
    assert {"FIRST", "SECOND"} <= set(seen["output"]["env"])
    assert "THIRD" not in seen["output"]["env"]


def test_repeated_calls_run_in_one_process_and_show_how_memory_grows():
    one, _ = report(module("faults"), "leak", "--input", '{"mib": 4}')
    many, status = report(module("faults"), "leak", "--input", '{"mib": 4}', "--repeat", "10")

    assert (many["calls"], status) == (10, 0)
    assert many["ms"]["least"] <= many["ms"]["median"] <= many["ms"]["most"]
    assert one["calls"] == 1
    if not SANITIZED:  # a sanitizer's allocator keeps pages of its own
        assert many["memoryKiB"]["last"] - many["memoryKiB"]["first"] > 9 * 3500


def test_calls_end_with_the_first_that_fails():
    answer, status = report(module("wrapped"), "refuse", "--input", "{}", "--repeat", "5")

    assert (answer["calls"], answer["outcome"], answer["error"], status) == (1, "failed for good", "refuse", 1)


def test_all_that_a_handler_says_is_shown_with_its_kind():
    text = execute(module("faults"), "print")
    answer, _ = report(module("faults"), "print")

    kinds = {(line["kind"], line["text"]) for line in answer["log"]}
    assert {("stdout", "a line on stdout"), ("stderr", "a line on stderr"), ("warn", "warn")} <= kinds
    assert "stdout | a line on stdout\n" in text.stderr


@pytest.mark.parametrize(
    ("step", "outcome", "error"),
    [
        ("segv", "died", "handler died: SIGSEGV"),
        ("exit", "died", "exited with status 3"),
        ("spin", "died", "timed out after 1 s"),
        ("error_text", "failed", "the mailbox is full"),
        ("permanent", "failed for good", "no such mailbox"),
        ("not_json", "failed", "JSON"),
    ],
)
def test_handler_that_fails_is_1_with_the_error_that_a_host_would_store(step, outcome, error):
    answer, status = report(module("faults"), step)

    assert (answer["outcome"], answer["output"], status) == (outcome, None, 1)
    assert error in answer["error"]


def test_wish_to_be_tried_later_is_shown():
    answer, status = report(module("faults"), "retry_after", "--input", '{"s": 33}')

    assert (answer["retryAfterSeconds"], status) == (33, 1)


@pytest.mark.parametrize(
    ("file", "options", "words"),
    [
        ("chain", ["--step", "frist"], "did you mean 'first'"),
        ("chain", [], "--step is missing"),
        ("chain", ["--step", "second", "--input", '{"third": 1}'], "'third' is no dependency of second"),
        ("chain", ["--step", "second", "--input", "[]"], "object"),
        ("chain", ["--step", "first", "--input", "{"], "--input: not JSON"),
        ("chain", ["--step", "first", "--input", "@/nonexistent"], "/nonexistent"),
        ("chain", ["--step", "first", "--flow-input", "{}"], "give the run's input as --input"),
        ("fan", ["--step", "each"], "--input is missing"),
        ("noop", ["--repeat", "0"], "--repeat"),
        ("noop", ["--under", "gdb"], "valgrind"),
    ],
)
def test_wrong_use_is_64_and_says_what_is_right(file, options, words):
    result = run_ctl("exec", module(file), *options)

    assert (result.returncode, result.stdout) == (64, "")
    assert words in result.stderr


@pytest.mark.parametrize(
    ("file", "words"),
    [("wrong_magic", "magic"), ("init_fails", "dictionary /nonexistent/words is missing"), ("init_crashes", "SIGABRT")],
)
def test_module_that_cannot_start_is_78_with_the_reason(file, words):
    result = run_ctl("exec", module(file))

    assert result.returncode == 78
    assert words in result.stderr


@pytest.mark.skipif(SANITIZED, reason="valgrind runs no program that a sanitizer was built into")
def test_valgrind_finds_leaks_and_wrong_writes_of_a_handler():
    good, good_status = report(HELLO, "greet", "--under", "valgrind", patience=4 * PATIENCE)
    leak, leak_status = report(module("careless"), "lose", "--repeat", "3", "--under", "valgrind", patience=4 * PATIENCE)
    write, write_status = report(module("careless"), "overrun", "--under", "valgrind", patience=4 * PATIENCE)

    assert (good["valgrind"], good_status) == (None, 0)
    assert "definitely lost" in leak["valgrind"] and "careless_lose" in leak["valgrind"]
    assert "Invalid write" in write["valgrind"] and "careless_overrun" in write["valgrind"]
    assert (leak_status, write_status) == (1, 1)


@pytest.mark.skipif(SANITIZED, reason="valgrind runs no program that a sanitizer was built into")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_call_ends_its_runner_and_leaves_no_file_behind(tmp_path, number):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "tmp").mkdir()
    calling = Program(
        [CTL, "exec", module("faults"), "--step", "print_and_meet", "--under", "valgrind",
         "--input", json.dumps({"line": "met", "fifo": str(tmp_path / "fifo")})],
        {**environment(), "TMPDIR": str(tmp_path / "tmp"), "XDG_CACHE_HOME": str(tmp_path / "cache")}, tmp_path)
    calling.log.wait_text("met")
    runners = calling.children()

    calling.signal(number)

    assert calling.wait() == -number
    for pid in runners:
        wait_gone(pid)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_valgrind_that_is_missing_is_said_with_the_remedy(tmp_path):
    result = run_ctl("exec", HELLO, "--step", "greet", "--under", "valgrind", env={"PATH": str(tmp_path)})

    assert result.returncode == 78
    assert "apt install valgrind" in result.stderr


def test_what_a_handler_leaves_in_its_process_is_told():
    leaves = ["exec", module("leaks"), "--step", "leave", "--input"]
    tidy = run_ctl(*leaves, '{"what": "alarm"}')
    untidy = run_ctl(*leaves, '{"what": "setenv"}')
    counted = json.loads(run_ctl(*leaves, '{"what": "thread"}', "--repeat", "3", "--json").stdout)

    assert tidy.returncode == untidy.returncode == 0
    assert "recycled" not in tidy.stderr
    assert "the task left a changed environment: a host would run the next task in another process" in untidy.stderr
    assert counted["left"] == "recycled: the task left more threads"


def test_output_that_is_dropped_is_told():
    flood = ["exec", module("faults"), "--step", "flood", "--input", '{"fault": "flood"}']

    assert "more than 64 KiB on stderr: the rest is dropped, as a host does" in run_ctl(*flood).stderr
    assert json.loads(run_ctl(*flood, "--json").stdout)["dropped"] == "more than 64 KiB on stderr: the rest is dropped"


@pytest.mark.skipif(SANITIZED, reason="no memory limit there")
def test_memory_limit_is_that_of_the_option_the_environment_or_the_configuration(tmp_path):
    config = tmp_path / "host.conf"
    config.write_text("handler-memory = 700\nqueue = elsewhere\n")
    config.chmod(0o600)
    report = ["exec", module("faults"), "--step", "self", "--input", '{"fault": "self"}']

    def limit(*options, **env):
        result = run_ctl(*report, *options, env=env)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["memoryLimit"]

    assert limit() == 512 << 20
    assert limit("--config", config) == limit(PGFLOW_CONFIG=config) == 700 << 20
    assert limit("--config", config, PGFLOW_HANDLER_MEMORY=600) == 600 << 20
    assert limit("--handler-memory", "0", PGFLOW_HANDLER_MEMORY=600) == 2**64 - 1
    refused = run_ctl(*report, "--handler-memory", "much")
    assert refused.returncode in (64, 78) and "--handler-memory" in refused.stderr
