"""pgflowctl doctor: what it says of set-ups that are well, and of broken ones."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

import psycopg2
import pytest

from lib.database import url
from lib.paths import PATIENCE, SANITIZED, SOURCE, VALGRIND, module
from lib.programs import Program, run_ctl, wait_until

# The private cluster has no fsync; that is found, and meant.
MEANT = {("server", "fsync is off: a crash of the machine may destroy the database")}


def examine(address, *options, env=None):
    """Findings that are not fine, as {(check, finding): (level, remedy)}, and the exit status."""
    result = run_ctl("doctor", "--json", *options, env={"PGFLOW_DATABASE": address, **(env or {})})
    said = json.loads(result.stdout)
    assert {"check", "level", "finding", "remedy"} == set(said[0])
    found = {(row["check"], row["finding"]): (row["level"], row["remedy"]) for row in said if row["level"] != "ok"}
    assert all(remedy for _, remedy in found.values() if _ != "note"), found
    return {key: found[key] for key in found if key not in MEANT}, result.returncode


def only(findings):
    assert len(findings) == 1, findings
    ((check, finding), (level, remedy)) = next(iter(findings.items()))
    return check, level, finding, remedy


def compile_flow(database, name):
    described = json.loads(run_ctl("inspect", module(name), "--json").stdout)
    database.rows("select pgflow.ensure_deployment(%s)", json.dumps(described))


def test_many_findings_alike_are_cut_unless_all_are_asked_for(database):
    database.rows("select pgflow.insert_worker_function('trial_' || n, 'process') from generate_series(1, 40) n")
    cut = run_ctl("doctor", env={"PGFLOW_DATABASE": database.url}).stdout
    whole = run_ctl("doctor", "--all", env={"PGFLOW_DATABASE": database.url}).stdout

    assert cut.count("is disabled") == 5 and "... and 35 more of functions; pgflowctl doctor --all shows them" in cut
    assert whole.count("is disabled") == 40 and "more of functions" not in whole


def test_a_system_at_work_is_well(database, hosts):
    hosts.start(queue="chain", plugins=["chain"])

    assert examine(database.url) == ({}, 0)
    text = run_ctl("doctor", env={"PGFLOW_DATABASE": database.url})
    assert text.returncode == 0 and "nothing is stuck" in text.stdout and "\x1b[" not in text.stdout


def test_strict_takes_a_warning_for_a_problem(database):
    assert examine(database.url, "--strict") == ({}, 1)


def test_database_that_is_down(tmp_path):
    findings, status = examine(f"postgresql://postgres@/postgres?host={tmp_path}")

    check, level, finding, remedy = only(findings)
    assert (check, level, status) == ("connection", "problem", 1)
    assert str(tmp_path) in finding and "--database" in remedy


def test_address_that_cannot_be_read_is_wrong_use():
    result = run_ctl("doctor", env={"PGFLOW_DATABASE": "postgresql://["})

    assert result.returncode == 64 and result.stdout == ""


def test_schema_that_is_not_installed(empty_database):
    findings, status = examine(empty_database.url)

    check, level, finding, remedy = only(findings)
    assert (check, level, status) == ("schema", "problem", 1)
    assert remedy == "pgflowctl migrate"


def test_schema_of_somebody_else(empty_database):
    empty_database.rows("create schema pgflow")

    findings, status = examine(empty_database.url)

    assert status == 1
    assert ("schema", "the schema pgflow was not made by pgflow-host") in findings


def test_schema_of_another_version(database):
    database.rows("insert into pgflow.schema_migrations select (jsonb_populate_record(m, '{\"version\": 999,"
                  " \"oldest_host\": 999}')).* from pgflow.schema_migrations m")

    check, level, finding, remedy = only(examine(database.url)[0])

    assert (check, level) == ("schema", "problem")
    assert "999" in finding and "newer pgflow-host" in remedy


def test_user_without_rights(database):
    database.rows("create role stranger login")
    address = database.url.replace(os.environ["PGUSER"] + "@", "stranger@")

    findings, status = examine(address)

    assert status == 1
    assert findings["roles", "user stranger is no operator"] == ("problem", "grant pgflow_operator to stranger;")
    assert ("vacuum", "transactions of other users cannot be seen") in findings


def test_operator_has_the_rights_for_every_check(database):
    database.rows("create role oncall login in role pgflow_operator, pg_read_all_stats")

    assert examine(database.url.replace(os.environ["PGUSER"] + "@", "oncall@")) == ({}, 0)


def test_rights_that_were_taken_away_or_given_to_all(database):
    database.rows("revoke execute on all functions in schema pgflow from pgflow_worker")
    database.rows("grant usage on schema pgflow to public")

    findings, status = examine(database.url)

    assert status == 1
    assert {finding for _, finding in findings} == {
        next(finding for _, finding in findings if finding.startswith("role pgflow_worker may not call pgflow.begin_idle and ")),
        "every user may use the schema pgflow",
    }
    database.rows("select pgflow._apply_roles()")  # the remedy
    assert examine(database.url) == ({}, 0)


def test_one_right_that_is_missing(database):
    database.rows("revoke execute on function pgflow.heartbeat from pgflow_worker")

    assert only(examine(database.url)[0])[:3] == ("rights", "problem", "role pgflow_worker may not call pgflow.heartbeat")


def test_volume_without_room(database):
    # What a full volume answers to a table that grows, by a trigger on its making.
    database.rows("create function refuse() returns event_trigger language plpgsql as"
                  " $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$")
    database.rows("create event trigger refuse on ddl_command_end when tag in ('CREATE TABLE AS') execute function refuse()")

    check, level, finding, remedy = only(examine(database.url)[0])

    assert (check, level) == ("storage", "problem")
    assert finding == "nothing can be written: could not extend file (53100)" and "room" in remedy


@contextlib.contextmanager
def server_that_answers(byte):
    """A port where the request for encryption gets this answer, and nothing more."""
    def serve():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    peer.recv(8)
                    peer.sendall(byte)
                    peer.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("mode, byte, word", [
    ("require", b"N", "ssl = off"), ("verify-full", b"S", "sslrootcert=FILE"), ("often", b"N", "sslmode is disable")])
def test_mistakes_of_encryption_have_their_remedies(tmp_path, mode, byte, word):
    with server_that_answers(byte) as port:
        findings, status = examine(f"postgresql://somebody@127.0.0.1:{port}/postgres?sslmode={mode}", env={"HOME": str(tmp_path)})

    check, level, finding, remedy = only(findings)
    assert (check, level, status) == ("connection", "problem", 1)
    assert word in remedy and "start PostgreSQL" not in remedy, (finding, remedy)


def test_login_that_may_not_connect(database):
    database.rows("create role newcomer login")
    database.rows(f"revoke connect on database {database.name} from public")

    check, level, finding, remedy = only(examine(database.url.replace(os.environ["PGUSER"] + "@", "newcomer@"))[0])

    assert (check, level) == ("connection", "problem") and "permission denied for database" in finding
    assert "grant connect on database" in remedy


def test_queue_that_was_dropped_behind_our_back(database):
    compile_flow(database, "chain")
    database.rows("select pgmq.drop_queue('chain')")

    findings, status = examine(database.url)

    assert status == 1
    level, remedy = findings["queues", "queue chain has no table in PGMQ: somebody dropped it"]
    assert level == "problem" and "pgmq.create('chain')" in remedy
    assert "sent again" in remedy and "cancel" not in remedy


def test_queued_tasks_without_a_message(database):
    compile_flow(database, "chain")
    database.start_flow("chain")
    database.rows("select pgmq.purge_queue('chain')")
    database.rows("select pgmq.send('chain', '{}')")

    findings, status = examine(database.url)
    database.rows("select pgflow.maintain()")
    healed, _ = examine(database.url)

    (lost,) = [(finding, *said) for (_, finding), said in findings.items() if "no message" in finding]
    assert status == 1
    assert lost[0].startswith("queue chain: 1 queued tasks have no message, the first since 2")
    assert lost[1] == "problem" and "sends them again" in lost[2]
    assert not any("no message" in finding for _, finding in healed), healed


def kind_of_queue(database):
    said = json.loads(run_ctl("doctor", "--json", env={"PGFLOW_DATABASE": database.url}).stdout)
    return [row["finding"] for row in said if (row["check"], row["level"]) == ("queues", "ok")]


def test_queue_is_called_by_what_it_is(database):
    embedded = kind_of_queue(database)
    database.rows("comment on schema pgmq is null")  # as PGMQ's own SQL leaves it

    assert embedded == ["the embedded queue"]
    assert kind_of_queue(database) == ["PGMQ, loaded without its extension"]


def test_table_that_cannot_be_published(database):
    well = examine(database.url)
    database.rows("alter table pgmq.meta replica identity default")  # as the extension has it
    unpublished, _ = examine(database.url)
    database.rows("create publication everything for all tables")

    check, level, finding, remedy = only(examine(database.url)[0])

    assert well == ({}, 0)
    assert only(unpublished)[1] == "note"
    assert (check, level) == ("replication", "problem") and finding.startswith("pgmq.meta has no replica identity")
    assert remedy == "alter table pgmq.meta replica identity using index meta_queue_name_key;"
    database.rows(remedy)
    assert examine(database.url) == ({}, 0)


def test_deletes_work_under_a_publication_of_all_tables(database):
    compile_flow(database, "chain")
    database.rows("create publication everything for all tables")
    database.start_flow("chain")

    database.rows("select pgflow.delete_flow_and_data('chain')")

    assert database.rows("select queue_name from pgmq.meta") == []


def test_function_that_the_guard_paused(database, hosts):
    compile_flow(database, "routed_v2")
    compile_flow(database, "routed_v1")
    host = hosts.start("--activate", "manual", queue="routed_main", plugins=["routed_v1", "routed_v2"])
    host.stop()
    database.rows("select pgflow.register_worker('11111111-1111-4111-8111-111111111111', 'routed_main', 'leftover',"
                  " array[('routed_v1', 'prepare')::pgflow.task_pair])")
    database.start_flow("routed_v2")
    database.rows("select * from pgflow.read_and_claim_tasks('routed_main', 10, 5, '11111111-1111-4111-8111-111111111111')")

    findings, status = examine(database.url)

    assert status == 1
    (paused,) = [(finding, *said) for (check, finding), said in findings.items() if "paused" in finding]
    assert paused[0].startswith("leftover is paused since ") and "routed_v2.prepare" in paused[0]
    assert paused[1] == "problem" and "pgflowctl functions enable leftover" in paused[2]


def test_function_that_its_deployment_retired_is_no_news_and_one_that_it_fenced_is(database):
    compile_flow(database, "chain")
    database.rows("select pgflow.retire_flow('chain'), pgflow.track_worker_function('fn', 'process')")

    def begin(name, action, enabled):
        database.rows("select pgflow.load_manifest(%s)", json.dumps({"deployment": name, "entries": [{
            "functionName": "fn", "serves": {"queue": "chain"}, "action": action, "enabled": enabled,
            "startMode": "process", "modules": ["0e3f"]}]}))
        database.rows("select pgflow.fence_deployment(%s, true)", name)

    begin("over", "retire", False)
    database.rows("select pgflow.apply_manifest('over')")
    retired = examine(database.url)
    begin("under way", "replace", True)
    found = examine(database.url)[0]
    fenced = {finding for _, finding in found}
    begin("over", "retire", False)
    again = {finding for _, finding in examine(database.url)[0]}

    assert retired == ({}, 0)
    assert "fn is disabled: deployment under way has fenced it" in fenced
    assert not any("functions enable" in remedy for _, remedy in found.values()), found
    assert any("under way is fenced since" in finding for finding in fenced), fenced
    # It is the later one's now.
    assert any("over is fenced since" in finding for finding in again), again
    assert not any("under way" in finding for finding in again), again


def test_work_without_a_worker_and_work_past_its_recovery(database):
    compile_flow(database, "chain")
    run = database.start_flow("chain")

    waiting = only(examine(database.url)[0])
    database.rows("update pgflow.step_tasks set status = 'started', started_at = clock_timestamp(),"
                  " recover_at = clock_timestamp() - interval '10 minutes' where run_id = %s", run)
    findings, status = examine(database.url)

    assert waiting[:3] == ("work", "problem", "queue chain: no live worker for chain.first and 2 more")
    assert "pgflowctl coverage chain" in waiting[3]
    assert status == 1
    assert any("past the time of their recovery" in finding for _, finding in findings), findings


def test_of_the_steps_without_a_worker_one_that_waits_is_named(database):
    compile_flow(database, "routed_v2")
    database.start_flow("routed_v2")  # check sorts before prepare, which waits

    findings, _ = examine(database.url)

    assert ("work", "queue routed_main: no live worker for routed_v2.prepare and 2 more") in findings


def test_run_that_nothing_can_end(database, hosts):
    hosts.start(queue="chain", plugins=["chain"])
    run = database.start_flow("chain")
    database.wait_run(run)
    database.rows("update pgflow.runs set status = 'started', completed_at = null, output = null where run_id = %s", run)

    check, level, finding, _ = only(examine(database.url)[0])

    assert (check, level) == ("work", "problem")
    assert run in finding and "no task of it is left" in finding


def test_transaction_that_blocks_vacuum(database):
    forgotten = psycopg2.connect(database.url, application_name="forgotten")
    pid = forgotten.get_backend_pid()
    with contextlib.closing(forgotten):
        forgotten.cursor().execute("create table mine ()")

        young, _ = examine(database.url)
        old, status = examine(database.url, "--transaction-age", "0")

    check, level, finding, remedy = only(old)
    assert young == {} and status == 0
    assert (check, level) == ("vacuum", "warning")
    assert "in forgotten" in finding and f"pg_terminate_backend({pid})" in remedy


def test_table_without_autovacuum(database):
    database.rows("alter table pgflow.runs set (autovacuum_enabled = false)")

    check, level, finding, remedy = only(examine(database.url)[0])

    assert (check, level, finding) == ("vacuum", "warning", "autovacuum is off for pgflow.runs")
    database.rows(remedy)
    assert examine(database.url) == ({}, 0)


def test_server_that_takes_no_writes(database):
    database.rows(f"alter database {database.name} set default_transaction_read_only = on")

    findings, status = examine(database.url)

    assert status == 1
    assert ("server", "transactions are read-only by default") in findings


CLOCK = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += 3600;
    return result;
}
"""


@pytest.mark.skipif(SANITIZED or VALGRIND, reason="wants to be loaded first itself")
def test_clock_that_runs_an_hour_ahead(database, tmp_path):
    (tmp_path / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "clock.so", "clock.c"], cwd=tmp_path, check=True, timeout=PATIENCE)

    findings, _ = examine(database.url, env={"LD_PRELOAD": tmp_path / "clock.so"})

    check, level, finding, _ = only(findings)
    assert (check, level) == ("clock", "warning")
    assert finding == "the clock here is 3600 s ahead of the database's"


POOLERS = [pathlib.Path("/usr/sbin/pgbouncer"), SOURCE / "build/tools/pgbouncer/usr/sbin/pgbouncer"]


@contextlib.contextmanager
def pooler_before(database):
    """A pgbouncer in transaction mode; it refuses to run as root, and others may not see the build."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pgf-pooler."))
    folder.chmod(0o777)
    shutil.copy(next(place for place in POOLERS if place.exists()), folder / "pgbouncer")
    (folder / "ini").write_text(
        f"[databases]\n{database.name} = host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']}\n"
        f"[pgbouncer]\npool_mode = transaction\nauth_type = any\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {folder}\n"
    )
    command = [folder / "pgbouncer", "-q", folder / "ini"]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig", "KILL", *command]
    pooler = Program(command, dict(os.environ), folder)
    try:
        wait_until(lambda: (folder / ".s.PGSQL.6432").exists())
        yield url(database.name).split("?")[0] + f"?host={folder}&port=6432"
    finally:
        pooler.kill()
        shutil.rmtree(folder)


@pytest.mark.skipif(not any(place.exists() for place in POOLERS), reason="pgbouncer is not there; scripts/test fetches it")
def test_pooler_in_between(database):
    with pooler_before(database) as address:
        findings, status = examine(address)

    assert status == 0
    level, remedy = findings["pooler", "a pooler stands before this database"]
    assert level == "warning" and "--pooled" in remedy
    assert findings["listen", "not to be relied on behind a pooler"][0] == "note"
