"""The alerts of docs/operations/metrics.md in a real Prometheus, over what real hosts and `pgflowctl metrics` say."""

import contextlib
import http.server
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.request

import pytest

from lib import exposition
from lib.paths import SOURCE
from lib.programs import run_ctl, wait_until
from test_guard import deploy_stray

PROMETHEUS = shutil.which("prometheus")
LISTEN = ("--metrics-listen", "127.0.0.1:0")

pytestmark = pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed (package prometheus)")


def guide_rules():
    """The rules as they are to be copied; each wait shortened, so that what fires is seen soon."""
    text = (SOURCE / "docs" / "operations" / "metrics.md").read_text()
    rules = re.sub("^    ", "", re.search(r"^    groups:\n(?:      .*\n|\n)*", text, re.M).group(), flags=re.M)
    return re.sub(r"(oldest_seconds\)) > 300", r"\1 > 5", re.sub(r"for: \d+m", "for: 1s", rules))


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def textfile(database):
    """What node_exporter would serve: the output of `pgflowctl metrics`, anew for each scrape."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = run_ctl("metrics", "--database", database.url)
            self.send_response(200 if answer.returncode == 0 else 500)
            self.end_headers()
            self.wfile.write(answer.stdout.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Prometheus:
    """One that scrapes `targets` and knows the alerts of the guide."""

    def __init__(self, folder, targets):
        self.address = f"127.0.0.1:{free_port()}"
        (folder / "rules.yml").write_text(guide_rules())
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": [str(folder / "rules.yml")],
            "scrape_configs": [{"job_name": "pgflow", "static_configs": [{"targets": targets}]}]}))
        self.process = subprocess.Popen(
            [PROMETHEUS, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.address}", "--log.level=error"])

    def firing(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/alerts", timeout=10) as answer:
                alerts = json.load(answer)["data"]["alerts"]
        except OSError:
            return None  # it is starting
        return {(alert["labels"]["alertname"], alert["labels"].get("queue") or alert["labels"].get("function"))
                for alert in alerts if alert["state"] == "firing"}

    def until(self, expected):
        """Waits until exactly these alerts fire."""
        wait_until(lambda: self.firing() == expected, patience=120)

    def end(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def prometheus(tmp_path):
    started = []

    def start(*targets):
        started.append(Prometheus(tmp_path, list(targets)))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_a_host_of_another_queue_tells_that_a_queue_has_lost_all_of_its_hosts(database, hosts, prometheus):
    other = hosts.start(*LISTEN, queue="noop", plugins=["noop"])
    lost = hosts.start(queue="faults", plugins=["faults"])
    alerts = prometheus(exposition.address(other))
    alerts.until(set())

    lost.stop()
    database.start_flow("faults", {"fault": "echo"})

    alerts.until({("QueueHasNoWorker", "faults"), ("QueueIsNotServed", "faults")})
    hosts.start(queue="faults", plugins=["faults"])
    alerts.until(set())


def test_one_frozen_host_of_two_is_told(database, hosts, prometheus):
    good = hosts.start(*LISTEN, queue="noop", plugins=["noop"])
    frozen = hosts.start(queue="noop", plugins=["noop"])
    alerts = prometheus(exposition.address(good))
    alerts.until(set())

    frozen.signal(signal.SIGSTOP)
    try:
        alerts.until({("WorkerWentSilent", "noop")})
    finally:
        frozen.signal(signal.SIGCONT)
    alerts.until(set())


def test_pgflowctl_tells_of_a_database_without_any_host_and_of_a_paused_function(database, hosts, prometheus):
    gone = hosts.start("--function", "first", queue="routed_main", plugins=["routed_v1"])
    deploy_stray(database)
    database.start_flow("leftover")
    assert gone.wait() == 78

    with textfile(database) as target:
        alerts = prometheus(target)
        wait_until(lambda: {("FunctionIsPaused", "first"), ("QueueHasNoWorker", "routed_main")} <= (alerts.firing() or set()),
                   patience=120)


def test_nobody_telling_is_an_alert(database, prometheus):
    prometheus(f"127.0.0.1:{free_port()}").until({("NobodyTells", None)})
