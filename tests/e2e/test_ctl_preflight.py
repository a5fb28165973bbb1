"""pgflowctl snapshot and preflight: would hosts with exactly these modules break running work?"""

import json
import os
import random
import re
import subprocess
import sys

import psycopg2
import pytest

from lib.compiled import build
from lib.database import administer
from lib.paths import CTL, SOURCE
from lib.programs import run_ctl

sys.path.insert(0, str(SOURCE / "tests" / "preflight"))
from generated import Flow  # noqa: E402

FLOW = """
#include <pgflow/module.h>
#include <stdlib.h>
static int32_t init(const pgf_host *host, void **state) { (void)host; (void)state; abort(); }
static int32_t run(void *state, const pgf_call *call) { (void)state; (void)call; abort(); }
static const char *const first[] = {"first", NULL};
static const pgf_options options = {.max_attempts = PGF_INT(4)};
static const pgf_step steps[] = {
    {.slug = "first", .queue = "main", .run = run, .contract = "a to b", .options = &options},
    {.slug = "second", .queue = "side", .run = run, .contract = "b to c", .deps = first},
};
PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "audit_v1", .alias = "audit",
    .queue_mode = PGF_QUEUE_ROUTED, .steps = PGF_ARRAY(steps), .init = init};
"""
V2 = FLOW.replace("audit_v1", "audit_v2")


@pytest.fixture(name="v1")
def fixture_v1(database, tmp_path):
    """The first version, deployed, with two runs open on queue main."""
    file = build(tmp_path, FLOW, name="v1.so")
    database.rows("select pgflow.ensure_deployment(%s)", run_ctl("inspect", file, "--json").stdout)
    for _ in range(2):
        database.start_flow("audit", {"secret": "payload"})
    return file


def preflight(*arguments, against, queue="main"):
    """Exit status and answer, which are the same online and from a snapshot."""
    said = run_ctl("preflight", *arguments, "--queue", queue, "--against", against, "--json")
    return said.returncode, json.loads(said.stdout) if said.stdout else said.stderr


def both(database, folder, *arguments, **more):
    (folder / "needs.json").write_text(run_ctl("snapshot", "--database", database.url).stdout)
    online = preflight(*arguments, against=database.url, **more)
    offline = preflight(*arguments, against=folder / "needs.json", **more)
    for answer in (online, offline):
        answer[1].pop("snapshot")
    assert online == offline
    return online


def kinds(findings):
    return sorted(finding["kind"] for finding in findings)


def add_host(database, queue, function, *pairs):
    database.rows("select pgflow.register_worker(gen_random_uuid(), %s, %s, array(select row(split_part(p, '.', 1),"
                  " split_part(p, '.', 2))::pgflow.task_pair from unnest(%s::text[]) p))", queue, function, list(pairs))


def test_a_set_that_has_everything_is_safe(database, tmp_path, v1):
    v2 = build(tmp_path, V2, name="v2.so")

    status, answer = both(database, tmp_path, v1, v2)
    said = run_ctl("preflight", v1, v2, "--queue", "main", "--against", database.url)

    assert (status, answer["verdict"], answer["problems"]) == (0, "safe", [])
    assert said.returncode == 0 and said.stdout.startswith("safe: hosts with these modules serve all"), said
    assert database.value("select count(*) from pgflow.flows") == 1, "nothing is written"
    move = next(note for note in answer["notes"] if note["kind"] == "activation")
    assert move["flow"] == "audit_v2" and "in place of audit_v1" in move["text"] and "queue side (no live host is there)" in move["text"]


def test_a_missing_version_is_named_with_what_waits_and_the_remedy(database, tmp_path, v1):
    v2 = build(tmp_path, V2, name="v2.so")
    database.rows("select pgflow.ensure_deployment(%s)", run_ctl("inspect", v2, "--json").stdout)
    database.rows("select pgflow.activate_flow('audit', 'audit_v2', true)")

    status, answer = both(database, tmp_path, v2)
    said = run_ctl("preflight", v2, "--queue", "main", "--against", database.url)

    assert (status, answer["verdict"]) == (1, "not_safe")
    (missing,) = answer["problems"]
    assert (missing["kind"], missing["flow"], missing["step"], missing["queue"]) == ("missing_pair", "audit_v1", "first", "main")
    assert (missing["reasons"], missing["runs"], missing["tasks"]) == (["draining", "executable"], 2, 2)
    assert missing["oldest"] and "pgflowctl drain audit_v1 --wait" in missing["remedy"]
    assert "audit_v1.first: draining, 2 runs; executable, 2 tasks; oldest since 20" in said.stdout, said


def test_a_changed_contract_under_the_slug_is_not_safe_and_drift_is_told(database, tmp_path, v1):
    changed = build(tmp_path, FLOW.replace("a to b", "a to c").replace("PGF_INT(4)", "PGF_INT(5)"), name="changed.so")

    status, answer = both(database, tmp_path, changed)

    assert (status, kinds(answer["problems"])) == (1, ["difference"])
    assert 'contract of step first: "a to b" -> "a to c"' in answer["problems"][0]["text"]
    assert any(note["kind"] == "option_drift" and "maxAttempts of step first: 4 -> 5" in note["text"] for note in answer["notes"])
    assert v1.exists()


def test_a_name_that_is_taken_and_a_queue_of_others_are_not_safe(database, tmp_path, v1):
    database.rows("select pgmq.create('elsewhere')")
    taken = build(tmp_path, FLOW.replace('"audit_v1"', '"AUDIT"').replace('"audit"', '"other"'), name="taken.so")
    foreign = build(tmp_path, V2.replace('"side"', '"elsewhere"'), name="foreign.so")

    assert kinds(both(database, tmp_path, v1, taken)[1]["problems"]) == ["name_taken"]
    assert kinds(both(database, tmp_path, v1, foreign)[1]["problems"]) == ["bad_queue"]
    assert both(database, tmp_path, v1, foreign, "--adopt-queue", "main,elsewhere")[0] == 0


def test_other_hosts_help_only_where_that_was_asked(database, tmp_path, v1):
    v2 = build(tmp_path, V2, name="v2.so")
    add_host(database, "main", "old hosts", "audit_v1.first")

    alone, beside = both(database, tmp_path, v2), both(database, tmp_path, v2, "--beside-live")

    assert (alone[0], alone[1]["verdict"]) == (1, "not_safe")
    assert (beside[0], beside[1]["verdict"]) == (0, "safe_beside_live")
    note = next(note for note in beside[1]["notes"] if note["kind"] == "beside_live")
    assert "do not start before nothing waits for it" in note["remedy"]
    assert v1.exists()


def test_a_queue_that_loses_its_only_server_is_named(database, tmp_path, v1):
    add_host(database, "side", "side hosts", "audit_v1.second")
    moved = build(tmp_path, V2.replace('"side"', '"main"'), name="moved.so")

    lost = [note for note in both(database, tmp_path, moved)[1]["notes"] if note["kind"] == "lost_server"]
    kept = both(database, tmp_path, v1, moved)[1]["notes"]

    assert [note["queue"] for note in lost] == ["side"] and "side hosts" in lost[0]["text"]
    assert "lost_server" not in kinds(kept), "the first version is given, too, and has a step there"


def test_what_a_verdict_cannot_know_is_named(database, tmp_path, v1):
    v2 = build(tmp_path, V2, name="v2.so")
    database.rows("select pgflow.ensure_deployment(%s)", run_ctl("inspect", v2, "--json").stdout)
    add_host(database, "main", "typescript")

    _, answer = both(database, tmp_path, v1)

    assert kinds(answer["caveats"]) == ["hosts_without_pairs", "later_start"]
    later = next(caveat for caveat in answer["caveats"] if caveat["kind"] == "later_start")
    assert later["flow"] == "audit_v2" and "by this slug" in later["text"]


def test_a_snapshot_has_no_payload_and_needs_one_right(database, tmp_path, v1):
    administer("do $$ begin create role preflight_ci login; exception when duplicate_object then null; end $$")
    url = re.sub(r"//[^@]+@", "//preflight_ci@", database.url)
    refused = run_ctl("snapshot", "--database", url)
    database.rows("grant usage on schema pgflow to preflight_ci")
    database.rows("grant execute on function pgflow.needs_snapshot() to preflight_ci")

    taken = run_ctl("snapshot", "--database", url, env={"PGOPTIONS": "-c default_transaction_read_only=on"})
    online = run_ctl("preflight", v1, "--queue", "main", "--against", url)

    assert refused.returncode == 78 and "grant execute on function pgflow.needs_snapshot()" in refused.stderr, refused
    assert taken.returncode == 0 and "secret" not in taken.stdout and "payload" not in taken.stdout
    assert "a to b" in taken.stdout, "contracts are in it"
    assert online.returncode == 0, online
    document = json.loads(taken.stdout)
    assert document["schema_version"] == 2 and document["taken_at"] and document["digest"].startswith("sha256:")
    assert tmp_path.exists()


def test_an_old_snapshot_is_warned_of(database, tmp_path, v1):
    needs = tmp_path / "needs.json"
    needs.write_text(run_ctl("snapshot", "--database", database.url).stdout)

    fresh = run_ctl("preflight", v1, "--queue", "main", "--against", needs)
    old = run_ctl("preflight", v1, "--queue", "main", "--against", needs, "--max-age", "0s")
    while not old.stderr:  # it is older than 0 s once a second has passed
        old = run_ctl("preflight", v1, "--queue", "main", "--against", needs, "--max-age", "0s")
    bad = run_ctl("preflight", v1, "--queue", "main", "--against", needs, "--max-age", "long")

    assert (fresh.returncode, fresh.stderr) == (0, ""), fresh
    assert old.returncode == 0 and "older than 0s" in old.stderr, old
    assert bad.returncode == 64 and "as in 24h" in bad.stderr, bad


def test_a_snapshot_that_was_laid_out_anew_is_the_same_and_a_changed_one_is_none(database, tmp_path, v1):
    taken = run_ctl("snapshot", "--database", database.url).stdout
    needs = tmp_path / "needs.json"

    needs.write_text(json.dumps(json.loads(taken), indent=2, sort_keys=True))
    laid_out = preflight(v1, against=needs)
    needs.write_text(taken.replace("audit_v1", "audit_v9"))
    changed = preflight(v1, against=needs)

    assert laid_out[0] == 0, laid_out
    assert changed[0] == 78 and "was changed after it was taken" in changed[1]


@pytest.mark.parametrize("text, words", [
    ("", "not JSON"), ("[]", "no JSON object"), ("{}", "snapshot[0].format is not there"),
    ('{"format": "pgflow-snapshot", "format_version": 2}', "does not know snapshots of format"), ('{"format": 1}', "format is not a text"),
])
def test_a_file_that_is_no_snapshot_cannot_tell(tmp_path, text, words):
    flow = Flow(random.Random(1), "f", "f", "main")
    file = build(tmp_path, flow.source(), name="f.so")
    needs = tmp_path / "needs.json"
    needs.write_text(text)

    said = run_ctl("preflight", file, "--queue", "main", "--against", needs)

    assert said.returncode == 78 and words in said.stderr, said


def test_schema_version_1_is_said(empty_database, tmp_path):
    subprocess.run(["psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", empty_database.url, "-f",
                    SOURCE / "sql" / "migrations" / "0001_core.sql"], check=True)
    with psycopg2.connect(empty_database.url) as connection:
        assert connection.server_version

    said = run_ctl("snapshot", "--database", empty_database.url)

    assert said.returncode == 78 and "schema version 1" in said.stderr and "pgflowctl migrate" in said.stderr, said
    assert tmp_path.exists()


def test_the_password_of_against_is_not_in_the_command_line(database, v1):
    """The database holds the answer back; meanwhile anybody may look."""
    url = re.sub(r"//([^@]+)@", r"//\1:tell-nobody@", database.url)
    with psycopg2.connect(database.url) as connection, connection.cursor() as cursor:
        cursor.execute("lock table pgflow.flows in access exclusive mode")
        with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, (CTL, "preflight", v1, "--queue",
                                                                            "main", "--against", url))],
                              env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, text=True) as process:
            database.until("select exists (select from pg_locks where not granted)")
            with open(f"/proc/{process.pid}/cmdline", "rb") as shown:
                line = shown.read()
            connection.rollback()
            assert process.wait(30) == 0
    assert b"tell-nobody" not in line and b"xxxx" in line


def test_the_job_of_the_page_blocks_a_bad_build(database, tmp_path):
    page = (SOURCE / "docs/operations/ci.md").read_text()
    snapshot, job = re.findall(r"```sh\n(.*?)\n```", page, re.S)
    text = FLOW.replace('"main"', '"audit"')
    for folder, name, slug in (("released", "audit_v1", "audit_v1"), ("build", "audit_v2", "audit_v2")):
        (tmp_path / folder).mkdir()
        build(tmp_path / folder, text.replace("audit_v1", slug), name=f"{name}.so")
    env = {"PATH": f"{CTL.parent}:{os.environ['PATH']}", "PGFLOW_DATABASE": database.url}
    database.rows("select pgflow.ensure_deployment(%s)", run_ctl("inspect", tmp_path / "released/audit_v1.so", "--json").stdout)
    database.start_flow("audit", {})

    def shell(command):
        return subprocess.run(["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert shell(snapshot).returncode == 0
    good, bad = shell(job), shell(job.replace("released/audit_v1.so ", ""))

    assert (good.returncode, good.stderr) == (0, ""), good
    assert bad.returncode == 1 and "audit_v1.first: active" in bad.stdout, bad
