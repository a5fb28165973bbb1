"""The status page: what it is told, what it may do, and what a browser makes of it."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import urllib.request

import pytest

from lib.exposition import address, get
from lib.paths import SOURCE
from lib.programs import wait_until

LISTEN = ("--metrics-listen", "127.0.0.1:0")
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
SECRET = "not-for-the-page-2290"


@pytest.fixture
def host(database, hosts):
    """Two versions, one active; a run that stays on each; a failure with a hostile text."""
    started = hosts.start(*LISTEN, "--concurrency", "2", queue="routed_main", plugins=["routed_v1", "routed_v2"])
    database.start_flow("routed_v1", {"secret": SECRET})
    database.until("select exists (select from pgflow.step_tasks where queue_name = 'routed_mail')")
    database.rows("select pgflow.activate_flow('routed', 'routed_v2', true)")
    failing = database.start_flow("routed_v2", {"ms": 60000})
    database.until("select status = 'started' from pgflow.step_tasks where run_id = %s", failing)
    database.rows(
        "select f.* from pgflow.step_tasks t, lateral pgflow.finish_tasks(t.last_worker_id, array[t.run_id], array[t.step_slug],"
        " array[t.task_index], array[t.claim_no], '{permanent}', array[null], array[%s]) f where t.run_id = %s", HOSTILE, failing)
    database.wait_run(failing, "failed")
    return started


def status(host, is_wanted):
    """Wait for a document of the database that is as wanted."""
    seen = []

    def asked():
        seen[:] = [json.loads(get(host, "/status.json")[1])]
        return seen[0]["database"] is not None and is_wanted(seen[0]["database"])

    wait_until(asked)
    return seen[0]


def flow_of(document, name):
    return next(flow for flow in document["flows"] if flow["flow"] == name)


def test_status_shows_queue_versions_workers_and_failures(host):
    told = status(host, lambda document: document["failures"] and flow_of(document, "routed_v2")["active"])

    database = told["database"]
    assert told["host"]["ready"] and told["host"]["queue"] == "routed_main"
    assert [flow["flow"] for flow in database["flows"]] == ["routed_v1", "routed_v2"]
    assert flow_of(database, "routed_v1")["startedRuns"] == 1
    deliver = flow_of(database, "routed_v1")["steps"][2]
    assert (deliver["step"], deliver["after"], deliver["here"], deliver["queued"]) == ("deliver", ["work"], False, 1)
    assert [(one["worker"], one["live"]) for one in database["workers"]] == [(told["host"]["worker"], True)]
    assert database["failures"][0]["error"] == HOSTILE
    assert SECRET not in json.dumps(told)


def answer_with(database, statement):
    """Have the question of the status page answered by this statement; each question is counted, whatever comes of it."""
    database.rows(
        "create or replace function pgflow.host_status(queue text, flow_slugs text[]) returns jsonb language plpgsql as $$"
        f" begin perform nextval('public.questions'); {statement}; end $$")


def ask_until_asked_again(database, host, times=2):
    goal = database.value("select last_value from public.questions") + times

    def asked():
        get(host, "/status.json")
        return database.value("select last_value from public.questions") >= goal

    wait_until(asked)


def test_refused_question_is_logged_once_although_the_connection_is_lost_meanwhile(database, hosts):
    database.rows("create sequence public.questions; grant usage on sequence public.questions to public")
    refused = "raise insufficient_privilege using message = 'not for you'"
    answer_with(database, refused)
    host = hosts.start(*LISTEN, queue="noop", plugins=["noop"])

    def complaints():
        return [line["call"] for line in host.log.find("metrics_incomplete", error="not for you")]

    ask_until_asked_again(database, host)
    host.log.wait("metrics_incomplete")
    assert complaints() == ["host_status"]
    answer_with(database, "perform pg_sleep(3600)")
    ask_until_asked_again(database, host, 1)
    answer_with(database, refused)
    asleep = "from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
    database.until(f"select exists (select {asleep})")
    database.rows(f"select pg_terminate_backend(pid) {asleep}")
    ask_until_asked_again(database, host)
    assert complaints() == ["host_status"]

    answer_with(database, "return '{}'")
    status(host, lambda document: document == {})
    answer_with(database, refused)
    ask_until_asked_again(database, host)
    host.log.wait("metrics_incomplete", count=2)
    assert complaints() == ["host_status"] * 2


def test_page_may_run_its_own_script_and_nothing_else(host):
    with urllib.request.urlopen(f"http://{address(host)}/", timeout=30) as answer:
        policy, page = answer.headers["Content-Security-Policy"], answer.read().decode()

    for tag in ("script", "style"):
        own = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S)
        assert len(own) == 1 and page.count(f"<{tag}") == 1
        digest = base64.b64encode(hashlib.sha256(own[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert "default-src 'none';" in policy and "unsafe" not in policy and "*" not in policy
    # One file: what it names by URL is the host itself, and the namespace of SVG.
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"\b(?:src|href)=\"([^\"]*)\"", page) == ["metrics"]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)


@pytest.fixture
def browse(tmp_path):
    """What a browser makes of the page of a host, as HTML."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")

    def dump(host):
        return subprocess.run(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             "--window-size=500,900", "--virtual-time-budget=5000", "--dump-dom", f"http://{address(host)}/"],
            capture_output=True, text=True, check=True, timeout=120,
        ).stdout

    return dump


def test_browser_shows_all_of_it_as_text(host, browse):
    status(host, lambda document: document["failures"] and flow_of(document, "routed_v2")["active"])

    shown = browse(host)

    assert 'data-shown="all"' in shown, shown[-2000:]
    assert "<title>routed_main – pgflow-host</title>" in shown
    assert "&lt;img src=x onerror=" in shown and "<img" not in shown
    assert "draining: 1 run left" in shown and "active: new runs start here" in shown
    assert shown.count("<svg") == 2 and "deliver: 1 queued, 0 running, after work, on queue routed_mail" in shown
    assert shown.count(">dashed: on another queue<") == 2
    # What scrolls can be reached by keyboard, and has a name.
    assert shown.count('tabindex="0" role="region" aria-label=') == shown.count('class="scroll"') >= 4


LONG_SLUGS = """
#include <pgflow/module.h>
static int32_t run(void *state, const pgf_call *call) { (void)state; (void)call; return PGF_OK; }
static const pgf_step steps[] = {{.slug = "resize_the_picture_for_the_web", .run = run},
                                 {.slug = "resize_the_picture_for_print", .run = run}};
PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "pictures",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
"""


def test_steps_whose_long_names_begin_alike_are_told_apart(hosts, tmp_path, browse):
    module = tmp_path / "pictures.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", module, f"-I{SOURCE / 'plugin-sdk' / 'include'}"],
                   input=LONG_SLUGS, text=True, check=True)
    module.chmod(0o755)
    host = hosts.start(*LISTEN, queue="pictures", plugins=[module])
    status(host, lambda document: document["flows"])

    shown = browse(host)

    assert "<title>resize_the_picture_for_the_web on pictures</title>" in shown
    assert ">resize_t…_the_web</text>" in shown and ">resize_t…or_print</text>" in shown


def test_page_of_a_host_that_waits_for_its_database_says_so(database, hosts, browse):
    database.server("stop")
    try:
        host = hosts.start(*LISTEN, queue="noop", plugins=["noop"], wait=False)
        host.log.wait("metrics_listening")
        shown = browse(host)
    finally:
        database.server("start")

    assert 'data-shown="host"' in shown and "<title>! noop – pgflow-host</title>" in shown
    assert shown.count(">The database has not answered yet.<") == 4
