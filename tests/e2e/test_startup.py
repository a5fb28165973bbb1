"""What a start proves before it serves, and how it fails."""

import contextlib
import json
import os
import re

import pathlib
import signal

import psycopg2
import pytest

from lib import database as databases
from lib.paths import module
from lib.programs import run_ctl, run_host, wait_gone, wait_until


def start(url, queue, *modules, options=("--exit-when-idle", "1"), folder=None, env=None):
    plugins = [part for name in modules for part in ("--plugin", module(name))]
    return run_host(
        "--queue", queue, "--module-dir", folder / "copies", "--log-format", "json", *plugins, *options,
        env={**({"PGFLOW_DATABASE": url} if url else {}), **(env or {})},
    )


def test_function_name_of_more_than_256_bytes_is_refused(database, tmp_path):
    longest = start(database.url, "noop", "noop", options=["--once", "--function", "x" * 256], folder=tmp_path)
    longer = start(database.url, "noop", "noop", options=["--once", "--function", "x" * 257], folder=tmp_path)

    assert longest.returncode == 0, longest.stderr
    assert longer.returncode == 64 and "--function is longer than 256 bytes" in longer.stderr


def test_database_that_is_down_ends_with_69(tmp_path):
    url = f"postgresql://postgres@/postgres?host={tmp_path}&port=5432"

    result = start(url, "noop", "noop", options=["--connect-timeout", "1"], folder=tmp_path)

    assert result.returncode == 69, result.stderr
    assert str(tmp_path) in result.stderr


def test_database_that_comes_up_in_time_is_waited_for(database, hosts):
    database.server("stop")
    host = hosts.start("--connect-timeout", "60", queue="noop", plugins=["noop"], wait=False)
    host.log.wait("db_unreachable")

    database.server("start")

    host.log.wait("ready")
    host.stop()


def loading(hosts, *options):
    """A host in whose throw-away runner a constructor never returns."""
    host = hosts.start(*options, queue="noop", plugins=["ctor_hangs"], wait=False)
    wait_until(lambda: any("ctor_hangs" in command(pid) for pid in host.children()))
    return host


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""


def test_signal_ends_a_start_that_waits_for_a_constructor(hosts):
    host = loading(hosts)
    runners = host.children()

    host.signal(signal.SIGUSR1)
    host.log.wait("state")
    assert host.running()
    host.signal(signal.SIGTERM)

    assert host.wait() == 0, host.said()
    assert host.log.wait("stopped") and "was not loaded" not in host.said()
    for pid in runners:
        wait_gone(pid)


def test_check_that_a_signal_ends_is_no_yes(database, hosts):
    host = loading(hosts, "--check")
    host.signal(signal.SIGTERM)

    assert host.wait() == 69
    assert "SIGTERM came before the check had an answer" in host.said()

    database.server("stop")
    host = hosts.start("--check", "--connect-timeout", "60", queue="noop", plugins=["noop"], wait=False)
    host.log.wait("db_unreachable")
    host.signal(signal.SIGINT)
    status = host.wait()
    database.server("start")

    assert status == 69
    assert "SIGINT came before the check had an answer" in host.said()


def test_unknown_database_ends_with_78(database, tmp_path):
    url = database.url.replace(database.name, "nobody_made_this")

    result = start(url, "noop", "noop", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    assert "nobody_made_this" in result.stderr


def test_unknown_role_ends_with_78(database, tmp_path):
    url = database.url.replace("postgres@", "nobody_made_this@")

    result = start(url, "noop", "noop", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    assert "nobody_made_this" in result.stderr
    assert "check what --database" in result.stderr
    assert "trying again" not in result.stderr


@pytest.mark.parametrize("before, after, remedy", [
    ("revoke connect on database {database} from public", "grant connect on database {database} to public",
     "as the owner of the database: grant connect on database"),
    ("alter role {login} nologin", "alter role {login} login", "as a superuser: alter role ... login"),
], ids=["connect", "nologin"])
def test_a_refused_connection_ends_with_78_and_says_what_mends_it(database, worker_login, tmp_path, before, after, remedy):
    names = {"database": database.name, "login": worker_login.name}
    database.rows(before.format(**names))
    try:
        result = start(worker_login.url, "noop", "noop", folder=tmp_path)
    finally:
        database.rows(after.format(**names))

    assert result.returncode == 78, result.stderr
    assert result.stderr.count(remedy) == 1, result.stderr


@contextlib.contextmanager
def lines_of_pg_hba(database, *lines):
    """The server's pg_hba.conf is these lines; `postgres` gets in by the first of them."""
    file = pathlib.Path(os.environ["PGF_CLUSTER"]) / "data" / "pg_hba.conf"
    before = file.read_text()
    file.write_text("".join(f"{line}\n" for line in ("local all postgres trust", *lines)))
    database.rows("select pg_reload_conf()")
    try:
        yield
    finally:
        file.write_text(before)
        database.rows("select pg_reload_conf()")


def is_refused(url):
    try:
        psycopg2.connect(url).close()
    except psycopg2.OperationalError:
        return True
    return False


@pytest.mark.parametrize("line, words", [
    ("local all nobody trust", "pg_hba.conf has no line for this user, database and client"),
    ("local all all reject", "a line of pg_hba.conf rejects this user, database and client"),
    ("local all all scram-sha-256", "correct user and password in the address"),
], ids=["none", "reject", "password"])
def test_what_pg_hba_keeps_out_is_told_so_whatever_the_name_of_the_role(database, tmp_path, line, words):
    database.rows("create role certificate_user login password 'right'")
    url = database.url.replace("postgres@", "certificate_user:wrong@")
    with lines_of_pg_hba(database, line):
        wait_until(lambda: is_refused(url))  # the server has read the file
        by_host = start(url, "noop", "noop", folder=tmp_path)
        by_doctor = run_ctl("doctor", "--json", "--database", url)
    database.rows("drop role certificate_user")

    assert by_host.returncode == 78 and by_host.stderr.count(words) == 1, by_host.stderr
    finding = json.loads(by_doctor.stdout)[0]
    assert words in finding["remedy"] and words not in finding["finding"], finding


def test_a_full_server_is_waited_for_and_the_log_says_what_mends_it(database, worker_login, hosts):
    database.rows(f"alter role {worker_login.name} connection limit 0")
    host = hosts.start("--connect-timeout", "60", queue="noop", plugins=["noop"], wait=False, env=worker_login.environment)

    assert "raise the connection limit" in host.log.wait("db_unreachable")["remedy"]
    database.rows(f"alter role {worker_login.name} connection limit -1")

    host.log.wait("ready")
    host.stop()


def test_schema_that_is_missing_ends_with_78_and_says_migrate(empty_database, tmp_path):
    result = start(empty_database.url, "noop", "noop", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    assert "pgflowctl migrate" in result.stderr


def test_schema_of_a_newer_version_ends_with_78(database, tmp_path):
    database.rows("insert into pgflow.schema_migrations (version, oldest_host, name) values (9999, 9999, 'later')")

    result = start(database.url, "noop", "noop", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    assert "9999" in result.stderr


def test_database_that_is_not_utf8_ends_with_78(tmp_path):
    databases.administer(
        "create database latin template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'"
    )

    result = start(databases.url("latin"), "noop", "noop", folder=tmp_path)

    databases.administer("drop database latin with (force)")
    assert result.returncode == 78, result.stderr
    assert "UTF8" in result.stderr.replace("UTF-8", "UTF8")


def test_shape_that_differs_lists_each_difference(database, tmp_path):
    database.rows("select pgflow.create_flow('chain', 7)")
    database.rows("select pgflow.add_step('chain', 'first')")
    database.rows("select pgflow.add_step('chain', 'other', array['first'], step_type => 'map')")
    before = database.rows("select * from pgflow.steps order by step_index")

    result = start(database.url, "chain", "chain", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    for word in ("chain", "second", "other", "third", "new concrete slug"):
        assert word in result.stderr, result.stderr
    assert database.rows("select * from pgflow.steps order by step_index") == before


def test_coverage_gap_names_the_missing_pair_its_reason_and_the_remedy(database, tmp_path):
    database.rows(
        "select pgflow.ensure_deployment(%s::jsonb)",
        '{"flowSlug": "lost", "queueMode": "routed", "routes": {"only": "routed_main"}, "options": {},'
        ' "steps": [{"slug": "only", "stepType": "single", "dependencies": [], "options": {},'
        ' "whenUnmet": "skip", "whenExhausted": "fail",'
        ' "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": false}}]}',
    )

    result = start(database.url, "routed_main", "routed_v1", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    for word in ("lost", "only", "active", "--plugin"):
        assert word in result.stderr, result.stderr
    assert database.value("select count(*) from pgflow.workers where not standby") == 0


def compile_wide(database, flow, steps, **more):
    """A flow with these steps on the queue routed_main, {step: its fields}."""
    database.rows("select pgflow.ensure_deployment(%s::jsonb)", json.dumps({
        "flowSlug": flow, "queueMode": "routed", "routes": {step: "routed_main" for step in steps},
        "steps": [{"slug": step, **fields} for step, fields in steps.items()], **more}))


def test_coverage_gap_shows_twenty_pairs_and_counts_the_others(database, tmp_path):
    compile_wide(database, "wide", {f"s{number}": {} for number in range(25)})

    result = start(database.url, "routed_main", "routed_v1", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    failed = json.loads(result.stderr.splitlines()[-1])["msg"]
    assert failed.count("\n  wide.s") == 20
    assert "\n  and 5 more\n" in failed and "--plugin" in failed


def test_coverage_gap_of_long_names_counts_what_does_not_fit(database, tmp_path):
    compile_wide(database, "f" * 128, {"s" * 120 + str(number): {} for number in range(10, 35)})

    result = start(database.url, "routed_main", "routed_v1", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    failed = json.loads(result.stderr.splitlines()[-1])["msg"]
    shown = failed.count("\n  " + "f" * 128)
    assert 0 < shown < 20
    assert f"\n  and {25 - shown} more\n" in failed and "--plugin" in failed


def test_differences_that_do_not_fit_are_counted(database, tmp_path):
    long = "é" * 250
    steps = {"prepare": {}, "work": {"dependencies": ["prepare"]}, "deliver": {"dependencies": ["work"]}}
    steps |= {f"more_{number}": {"contract": long} for number in range(30)}
    compile_wide(database, "routed_v1", steps, alias="routed")

    result = start(database.url, "routed_main", "routed_v1", folder=tmp_path)

    assert result.returncode == 78, result.stderr
    failed = json.loads(result.stderr.splitlines()[-1])["msg"]
    assert re.search(r"\n  and \d+ more\n", failed) and "slug" in failed.splitlines()[-1], failed


def test_queue_of_somebody_else_is_refused_unless_adopted(database, tmp_path):
    database.rows("select pgmq.create('routed_main')")

    refused = start(database.url, "routed_main", "routed_v1", folder=tmp_path)
    adopted = start(
        database.url, "routed_main", "routed_v1", options=["--adopt-queue", "routed_main", "--once"], folder=tmp_path
    )

    assert refused.returncode == 78, refused.stderr
    assert "routed_main" in refused.stderr and "--adopt-queue" in refused.stderr
    assert adopted.returncode == 0, adopted.stderr


def test_check_reports_and_changes_nothing(database, tmp_path):
    result = start(database.url, "noop", "noop", options=["--check"], folder=tmp_path)

    assert result.returncode == 0, result.stderr
    assert "compiled" in result.stdout + result.stderr
    assert database.value("select count(*) from pgflow.flows") == 0
    assert database.value("select count(*) from pgflow.workers") == 0
    assert database.value("select count(*) from pgflow.worker_functions") == 0


def test_check_exits_as_a_start_would(database, tmp_path):
    database.rows("select pgflow.create_flow('noop')")
    database.rows("select pgflow.add_step('noop', 'another')")

    result = start(database.url, "noop", "noop", options=["--check"], folder=tmp_path)

    assert result.returncode == 78, result.stderr
    assert "another" in result.stderr


def test_check_reports_a_disabled_function_instead_of_waiting(database, tmp_path):
    database.rows("select pgflow.insert_worker_function('pgflow-host/noop', 'process')")

    result = start(database.url, "noop", "noop", options=["--check"], folder=tmp_path)

    assert result.returncode == 0, result.stderr
    assert "disabled" in result.stdout + result.stderr


def test_start_tells_each_deployment_by_flow(database, hosts):
    host = hosts.start(queue="routed_main", plugins=["routed_v1", "routed_v2"])

    first = host.log.wait("deployment", flow="routed_v1")
    second = host.log.wait("deployment", flow="routed_v2")

    assert (first["compilation"], second["compilation"]) == ("compiled", "compiled")
    assert len(first["sha256"]) == 64
    assert first["queue"] == "routed_main"


def test_queue_is_inferred_from_a_single_plain_module(database, hosts):
    host = hosts.start(plugins=["noop"])

    run = database.start_flow("noop")

    database.wait_run(run)
    assert database.value("select queue_name from pgflow.workers") == "noop"
    host.stop()


def test_configuration_file_alone_starts_a_host(database, hosts, tmp_path):
    config = tmp_path / "host.conf"
    config.write_text(
        f"# one host\nqueue = noop\nplugin = {module('noop')}\nplugin = {module('noop_again')}\n"
        f"database = {database.url}\nfunction = ours\nno-listen = true\n"
    )

    refused = run_host("--config", config, "--module-dir", tmp_path / "copies")
    config.write_text(config.read_text().replace(f"plugin = {module('noop_again')}\n", ""))
    hosts.start("--config", config, env={"PGFLOW_DATABASE": database.url})

    assert refused.returncode == 78 and "noop_again" in refused.stderr
    assert database.value("select function_name from pgflow.workers") == "ours"


def test_credentials_leave_the_process_list(database, hosts):
    with_password = database.url.replace("postgres@", "postgres:s3cret@")
    host = hosts.start("--database", with_password, queue="noop", plugins=["noop"])

    for name in ("cmdline", "environ"):
        try:
            with open(f"/proc/{host.pid}/{name}", "rb") as shown:
                assert b"s3cret" not in shown.read(), name
        except PermissionError:
            pass
    assert "s3cret" not in host.said()


@pytest.mark.parametrize("again", ["the same version", "another host"])
def test_second_start_verifies_what_the_first_compiled(database, tmp_path, again):
    start(database.url, "noop", "noop", options=["--once"], folder=tmp_path)

    result = start(database.url, "noop", "noop", options=["--once", "--function", again], folder=tmp_path)

    assert result.returncode == 0, result.stderr
    assert '"compilation":"verified"' in result.stderr.replace(" ", "")


def test_migrate_twice_is_harmless(database):
    result = run_ctl("migrate", "--database", database.url)

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("options", "sessions"), [((), 2), (("--db-connections", "1"), 1), (("--pooled",), 0)],
    ids=["two connections", "one connection", "pooled"],
)
def test_every_connection_for_work_is_warmed_up(database, tmp_path, options, sessions):
    database.rows(f"alter database {database.name} set track_functions = 'all'")

    result = start(database.url, "noop", "noop", options=["--exit-when-idle", "1", *options], folder=tmp_path)

    assert result.returncode == 0, result.stderr
    # A session counts when it is over, a moment after its client.
    database.until("select count(*) = 1 from pg_stat_activity where datname = current_database()")
    calls = database.value("select coalesce(sum(calls), 0) from pg_stat_user_functions where funcname = 'warm_up'")
    assert calls == sessions
