"""The example support_threads: what it thinks of threads, and what reaches the webhook."""

import contextlib
import json

import pytest

from lib.paths import BUILD
from lib.programs import run_ctl, run_host
from lib.webhook import Webhook

CLASSIFY, DELIVER = "classify_threads", "deliver_slack_alerts"
V1, V2 = (BUILD / "plugins" / f"support_threads_v{version}.so" for version in (1, 2))
FLOW = "support_threads"


def thread(number, subject, *messages, **more):
    """A thread; messages that begin with "agent:" are the agent's."""
    written = [
        {"from": "agent" if text.startswith("agent:") else "customer", "text": text.removeprefix("agent:")}
        for text in messages
    ]
    return {"id": f"T-{number}", "subject": subject, "messages": written, **more}


DOWN = thread(
    1, "Checkout <!channel> & co", "Your API IS\nDOWN in production!", link="https://support.example/T-1")
BREACH = thread(2, "Somebody hacked my account", "Please lock it.", "Hello?", "Anybody there?")
REFUND = thread(3, "Refund", "I was charged twice for one invoice.")
QUESTION = thread(4, "Export", "How do I download my software downloads?", "agent:is production down? urgent!")
LOST = thread(6, "Files", "Your update lost all files of production!")
CALM = thread(5, "Not urgent", "The site was down in production, it works again. No rush, ASAP is not needed")

DOWN_ALERT = (
    "Urgent (outage): Checkout &lt;!channel&gt; &amp; co [T-1]\nBecause of: is down, production\nhttps://support.example/T-1")


class Support:
    """A host for each queue, with the concurrency that suits it, and the webhook of the second one."""

    def __init__(self, database, hosts, *answers):
        self._database = database
        self._hosts = hosts
        self.webhook = Webhook(*answers)
        self.hosts = []

    def serve(self, *plugins):
        self.think(*plugins)
        self.hosts.append(self._hosts.start(
            "--concurrency", "5", "--pass-env", "SUPPORT_WEBHOOK_URL", "--log-level", "debug",
            queue=DELIVER, plugins=plugins, env={"SUPPORT_WEBHOOK_URL": self.webhook.url}))
        self.activate(plugins[-1].stem)
        return self

    def think(self, *plugins):
        """Serve the first queue alone."""
        self.hosts.append(self._hosts.start("--concurrency", "1", queue=CLASSIFY, plugins=plugins))
        return self.hosts[-1]

    def activate(self, flow):
        """As an operator; the version that is active already stays so."""
        answer = run_ctl("activate", FLOW, flow, env={"PGFLOW_DATABASE": self._database.url})
        assert answer.returncode == 0, answer.stderr

    def wait_for_alias(self, flow):
        self._database.until(
            "select count(*) = 1 from pgflow.flow_aliases where alias = %s and active_flow_slug = %s", FLOW, flow)

    def start(self, *threads):
        return self._database.start_flow(FLOW, {"threads": list(threads)})

    def assert_told_nobody_the_url(self):
        """Neither a log nor a row holds a part of the address or what the customers wrote."""
        for host in self.hosts:
            if host.running():
                host.stop()
        stored = json.dumps(self._database.rows("select error_message, output from pgflow.step_tasks"), default=str)
        logs = "".join(host.said() for host in self.hosts)
        assert '"event":"ready"' in logs.replace(" ", "")
        for secret in (Webhook.SECRET, f"127.0.0.1:{self.webhook.port}"):
            assert secret not in logs + stored
        assert "production" not in logs


@pytest.fixture
def support(database, hosts):
    with contextlib.ExitStack() as stack:

        def start(*answers):
            made = Support(database, hosts, *answers)
            stack.callback(made.webhook.close)
            return made

        yield start


def verdicts(database, run):
    found = database.rows(
        "select output from pgflow.step_tasks where run_id = %s and step_slug = 'classify_threads' order by task_index",
        run)
    return {row.output["id"]: (row.output["category"], row.output["urgency"], row.output["because"]) for row in found}


def test_urgent_threads_reach_the_webhook_and_no_others(database, support):
    running = support().serve(V1)

    run = running.start(QUESTION, DOWN, REFUND, BREACH, CALM)

    output = database.wait_run(run).output["deliver_slack_alerts"]
    assert verdicts(database, run) == {
        "T-1": ("outage", "urgent", ["is down", "production"]),
        "T-2": ("security", "urgent", ["hacked"]),
        "T-3": ("billing", "urgent", ["charged twice", "refund", "invoice"]),
        "T-4": ("how_to", "normal", ["how do i"]),
        "T-5": ("other", "low", ["urgent", "asap", "production", "not urgent", "no rush", "works again"]),
    }
    keys = [f"{run}/deliver_slack_alerts/{index}" for index in range(3)]
    assert output == [
        {"id": ticket, "status": 200, "key": key} for ticket, key in zip(("T-1", "T-2", "T-3"), keys)]
    assert sorted(running.webhook.posts, key=lambda post: post[1]) == [
        (f"/services/{Webhook.SECRET}", key, "application/json", text)
        for key, text in zip(keys, (
            DOWN_ALERT,
            "Urgent (security): Somebody hacked my account [T-2]\nBecause of: hacked",
            "Urgent (billing): Refund [T-3]\nBecause of: charged twice, refund, invoice"))
    ]
    workers = database.rows(
        "select queue_name, count(distinct last_worker_id) as workers from pgflow.step_tasks"
        " where run_id = %s group by 1 order by 1", run)
    assert workers == [(CLASSIFY, 1), (DELIVER, 1)]
    running.assert_told_nobody_the_url()


def test_run_without_urgent_threads_completes_without_delivery(database, support):
    running = support().serve(V1)

    run = running.start(QUESTION, CALM)

    assert database.wait_run(run).output == {"deliver_slack_alerts": []}
    assert running.webhook.posts == []


def test_alert_that_met_a_503_is_posted_again_with_the_same_key(database, support):
    running = support((503, {"Retry-After": "1"})).serve(V1)

    run = running.start(DOWN)

    database.wait_run(run)
    first, second = running.webhook.posts
    assert first == second
    assert database.task(run, DELIVER).attempts_count == 2
    running.assert_told_nobody_the_url()


def test_alert_that_met_a_400_fails_its_run_at_the_first_attempt(database, support):
    running = support((400, {})).serve(V1)

    run = running.start(DOWN)

    database.wait_run(run, status="failed")
    task = database.task(run, DELIVER)
    assert (task.attempts_count, task.error_message) == (1, "the webhook refused the alert: HTTP 400")
    assert len(running.webhook.posts) == 1
    running.assert_told_nobody_the_url()


def test_second_version_tells_each_team_once_while_runs_of_the_first_end_as_they_began(database, support):
    running = support()
    old_host = running.think(V1)
    running.wait_for_alias("support_threads_v1")
    old = running.start(DOWN)
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and step_slug = %s", old, DELIVER)
    old_host.stop()

    running.serve(V1, V2)
    new = running.start(DOWN, BREACH, LOST)

    assert database.wait_run(old).output == {
        "deliver_slack_alerts": [{"id": "T-1", "status": 200, "key": f"{old}/deliver_slack_alerts/0"}]}
    assert database.wait_run(new).output == {"deliver_slack_alerts": [
        {"team": "platform", "ids": ["T-6", "T-1"], "status": 200, "key": f"{new}/deliver_slack_alerts/0"},
        {"team": "security", "ids": ["T-2"], "status": 200, "key": f"{new}/deliver_slack_alerts/1"}]}
    assert {post[1]: post[3] for post in running.webhook.posts} == {
        f"{old}/deliver_slack_alerts/0": DOWN_ALERT,
        f"{new}/deliver_slack_alerts/0":
            f"2 urgent threads for team platform\n\nUrgent (data): Files [T-6]\nBecause of: lost all, production\n\n{DOWN_ALERT}",
        f"{new}/deliver_slack_alerts/1":
            "1 urgent thread for team security\n\nUrgent (security): Somebody hacked my account [T-2]\nBecause of: hacked",
    }
    assert database.rows("select flow_slug from pgflow.runs order by started_at") == [
        ("support_threads_v1",), ("support_threads_v2",)]
    drained = run_ctl("drain", "support_threads_v1", env={"PGFLOW_DATABASE": database.url})
    assert drained.returncode == 0, drained.stdout
    running.assert_told_nobody_the_url()


def test_second_versions_handlers_under_the_first_ones_slug_are_refused_by_their_contracts(database, support, tmp_path):
    running = support()
    running.think(V1)
    mixed = tmp_path / "mixed.so"
    mixed.write_bytes(V2.read_bytes().replace(b"support_threads_v2\0", b"support_threads_v1\0"))

    refused = run_host("--queue", CLASSIFY, "--plugin", mixed, "--check", env={"PGFLOW_DATABASE": database.url})

    assert refused.returncode == 78
    assert "support_threads/verdict/1" in refused.stderr and "support_threads/verdict/2" in refused.stderr
