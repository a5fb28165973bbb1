"""Secrets are planted wherever the programs see some; no log of theirs shows one, in any format, at level debug."""

import json
import os

import pytest

from lib.exposition import get
from lib.paths import module
from lib.programs import run_ctl, run_host, wait_until

FORMATS = ["json", "logfmt", "pretty"]
PASSWORD = "url-password-9931"
INPUT = "input-secret-9932"
OUTPUT = "output-secret-9933"
BODY = "body-secret-9934"
ERROR = "the mailbox is full"  # what the step error_text says

# Refused by the server, by nobody, and as wrong use.
WRONG_URLS = {
    "json": [
        "postgresql://postgres:{password}@/no_such_database?host={host}&port={port}",
        "postgresql://postgres:{password}@/postgres?nonsense={password}",
    ],
    "logfmt": [
        "postgresql://no_such_role:{password}@/postgres?host={host}&port={port}",
        "postgresql://postgres:{password}@@host/postgres",
    ],
    "pretty": [
        "postgresql://postgres:{password}@/postgres?host=/nonexistent&port=1",
        "host=/nonexistent password={password} port=x",
    ],
}


def with_password(database):
    return database.url.replace("postgres@", f"postgres:{PASSWORD}@")


def assert_clean(text, *more):
    for secret in (PASSWORD, INPUT, OUTPUT, BODY, *more):
        assert secret not in text, f"{secret} is shown: {text[max(0, text.find(secret) - 300):][:600]}"


def serve_everything(database, host):
    """Runs that complete, fail, are refused; messages of others; a database that goes away in between."""
    secret = {"secret": INPUT}
    for fault, end in [
        ("echo", "completed"),
        ("error_text", "failed"),
        ("permanent", "failed"),
        ("segv", "failed"),
        ("not_json", "failed"),
        ("number_overflow", "failed"),
        ("over_limit", "failed"),
        ("spin_politely", "failed"),
    ]:
        database.wait_run(database.start_flow("faults", {"fault": fault, "echo": OUTPUT, **secret}), end)
    # No task owns these; one has a body that names other work.
    database.rows("select pgmq.send('faults', %s)", json.dumps({"secret": BODY, "run_id": BODY}))
    database.rows("select pgmq.send('faults', %s)", json.dumps(BODY))
    host.log.wait("foreign_messages") if host.log.records else database.until(
        "select count(*) = 2 from pgmq.q_faults where read_ct > 0"
    )
    cancelled = database.start_flow("faults", {"fault": "sleep", "ms": 60000, **secret})
    database.until("select exists (select from pgflow.step_tasks where run_id = %s and status = 'started')", cancelled)
    database.rows("select pgflow.cancel_run(%s, 'enough')", cancelled)
    database.server("restart")
    database.wait_run(database.start_flow("faults", {"fault": "echo", **secret}))


@pytest.mark.parametrize("log_format", FORMATS)
def test_host_and_runner_show_no_secret(database, hosts, log_format):
    host = hosts.start(
        "--log-level",
        "debug",
        queue="faults",
        plugins=["faults"],
        log_format=log_format,
        env={"PGFLOW_DATABASE": with_password(database), "PGPASSWORD": PASSWORD},
        wait=False,
    )
    database.until("select exists (select from pgflow.workers where not standby)")

    serve_everything(database, host)

    host.stop()
    assert_clean(host.said() + "\n".join(host.output.text))
    assert ERROR in host.said()  # its author wrote it for people
    # The log was there to be searched: a failed attempt, the restart, messages of others.
    for words in ("error_text", "connection changes state", "belong to no task"):
        assert words in host.said(), words


def test_nothing_served_over_http_shows_a_secret(database, hosts):
    options = ("--metrics-listen", "127.0.0.1:0")
    env = {"PGFLOW_DATABASE": with_password(database), "PGPASSWORD": PASSWORD}
    host = hosts.start(*options, queue="faults", plugins=["faults"], env=env)

    serve_everything(database, host)

    wait_until(lambda: (json.loads(get(host, "/status.json")[1])["database"] or {}).get("failures"))
    told = json.loads(get(host, "/status.json")[1])
    assert ERROR in [failure["error"] for failure in told["database"]["failures"]]
    assert_clean(json.dumps(told) + get(host, "/metrics")[1] + get(host, f"/{INPUT}?{OUTPUT}")[1])


@pytest.mark.parametrize("log_format", FORMATS)
def test_database_url_that_fails_is_not_shown(tmp_path, log_format):
    for url in WRONG_URLS[log_format]:
        wrong = url.format(password=PASSWORD, host=os.environ["PGHOST"], port=os.environ["PGPORT"])
        options = ["--log-format", log_format, "--log-level", "debug", "--connect-timeout", "1", "--plugin", module("noop")]

        results = [
            run_host(*options, "--module-dir", tmp_path / "copies", env={"PGFLOW_DATABASE": wrong}),
            run_ctl("--database", wrong, "runs"),
        ]
        for result in results:
            assert result.returncode in (64, 69, 78), result.stderr
            assert_clean(result.stderr + result.stdout)


def test_url_in_the_wrong_place_is_not_shown(database):
    url = with_password(database)
    env = {"DATABASE_URL": database.url}

    for result in (
        run_host(url),
        run_host("-d", url),
        run_host("--queue", "--database", url),
        run_host("--concurrency", url),
        run_ctl(url, "runs"),
        run_ctl("runs", url),
        run_ctl("runs", "--limit", url, env=env),
    ):
        assert result.returncode == 64, result.stderr
        assert_clean(result.stderr + result.stdout)


def test_pgflowctl_shows_no_payload_unasked(database, hosts, tmp_path):
    hosts.start(queue="faults", plugins=["faults"])
    env = {"DATABASE_URL": with_password(database)}
    given = tmp_path / "input.json"
    given.write_text(json.dumps({"fault": "echo", "secret": INPUT}))

    started = run_ctl("start", "faults", "--input", f"@{given}", "--wait", env=env)
    failed = run_ctl("start", "faults", "--input", json.dumps({"fault": "permanent", "secret": INPUT}), "--wait", env=env)
    wrong = run_ctl("start", "faults", "--input", "{" + INPUT, env=env)
    run = database.value("select run_id::text from pgflow.runs where status = 'completed'")
    shown = [run_ctl(*words, env=env) for words in (["run", run], ["runs"], ["workers"], ["functions"], ["drain", "faults"], ["coverage", "faults"])]

    assert started.returncode == 0 and failed.returncode == 1 and wrong.returncode == 64
    for result in (started, failed, wrong, *shown):
        assert_clean(result.stderr + result.stdout)
    assert INPUT in run_ctl("run", run, "--output", env=env).stdout, "but it does when asked"


URL = "postgres://app:s3cret@127.0.0.1:1/none"
PARAMETERS = "host=127.0.0.1 password=s3cret"


@pytest.mark.parametrize("text", [URL, PARAMETERS], ids=["url", "parameters"])
@pytest.mark.parametrize("option", ["plugin", "config", "queue", "function", "module-dir", "handler-user", "metrics-listen", "pass-env", "concurrency"])
def test_url_in_the_wrong_place_is_not_echoed(tmp_path, option, text):
    done = run_host("--plugin", module("noop"), f"--{option}", text, "--check", "--connect-timeout", "1", folder=tmp_path)

    assert done.returncode == 64 and f"--{option}" in done.stderr, done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [["workers", "--config", URL], ["inspect", URL], ["exec", URL], ["lint", URL], ["start", "x", "--run-id", URL], ["start", f"--{URL}"],
     ["start", URL], ["run", URL], ["rollout", URL, "status"], [URL], ["start", "x", "--input", f"@{URL}"]],
    ids=lambda arguments: " ".join(arguments).replace(URL, "URL"),
)
def test_pgflowctl_echoes_no_url_in_the_wrong_place(database, arguments):
    done = run_ctl(*arguments, env={"PGFLOW_DATABASE": database.url})

    assert done.returncode in (1, 64, 78), done.stderr
    assert done.stderr and "s3cret" not in done.stdout + done.stderr, done.stderr
