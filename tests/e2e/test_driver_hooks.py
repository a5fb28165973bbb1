"""The example hooks of packaging/hooks, and what the driver makes of them.

`host-process` rolls hosts over in test_driver.py, the systemd file in test_systemd.py. For Kubernetes only the script
is tested, against a stand-in for kubectl that keeps a Deployment in a file: no cluster is to be had here."""

import json
import subprocess

import pytest

from lib.paths import SOURCE
from lib.programs import environment, run_ctl
from lib.rollout import build_ids, entry, manifest
from lib.site import Site

HOOKS = SOURCE / "packaging" / "hooks"
KUBECTL = """#!/bin/sh
# A Deployment in the files spec, replicas, updated, ready and image; calls are noted.
cd "$DEPLOYMENT" && echo "$*" >>calls
case $3 in
  scale) echo "${5#--replicas=}" >spec ;;
  set) echo "$6" >image ;;
  get)
    printf '%s' "$(cat spec) "
    for count in replicas updated ready; do [ "$(cat $count)" = 0 ] || printf '%s' "$(cat $count)"; printf ' '; done
    printf '.' ;;
esac
"""


@pytest.fixture
def cluster(tmp_path):
    """Runs host-kubernetes beside a stand-in; the counts are what `kubectl get` would show."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").write_text(KUBECTL)
    (tmp_path / "bin" / "kubectl").chmod(0o755)

    def run(*arguments, **counts):
        for name, count in {"spec": 2, "replicas": 2, "updated": 2, "ready": 2, **counts}.items():
            (tmp_path / name).write_text(f"{count}\n")
        done = subprocess.run([HOOKS / "host-kubernetes", *arguments], capture_output=True, text=True, check=False,
                              env=environment(PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin", DEPLOYMENT=tmp_path))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    run.folder = tmp_path
    return run


@pytest.mark.parametrize("counts, word", [
    ({}, "running"),
    ({"spec": 0, "replicas": 0, "updated": 0, "ready": 0}, "stopped"),
    ({"spec": 0}, "changing"),  # pods that end
    ({"spec": 0, "ready": 0, "updated": 0}, "changing"),
    ({"replicas": 0, "updated": 0, "ready": 0}, "changing"),  # nothing was made yet
    ({"ready": 0}, "changing"),
    ({"ready": 1}, "changing"),
    ({"updated": 1}, "changing"),  # pods of the old image among them
    ({"replicas": 3}, "changing"),
])
def test_status_of_a_deployment_goes_by_its_counts(cluster, counts, word):
    assert cluster("status", "shop", "triage", **counts) == word


def test_stop_and_start_of_a_deployment_are_declarations(cluster):
    cluster("stop", "shop", "triage")
    stopped = (cluster.folder / "spec").read_text()
    cluster("start", "shop", "triage", "registry.example/triage:2", "3")

    assert stopped == "0\n"
    assert ((cluster.folder / "spec").read_text(), (cluster.folder / "image").read_text()) == ("3\n", "pgflow-host=registry.example/triage:2\n")
    assert (cluster.folder / "calls").read_text().splitlines() == [
        "-n shop scale deployment/triage --replicas=0",
        "-n shop set image deployment/triage pgflow-host=registry.example/triage:2",
        "-n shop scale deployment/triage --replicas=3"]


def test_container_of_the_example_is_that_of_the_manifest():
    text = (SOURCE / "packaging" / "kubernetes" / "pgflow-host.yaml").read_text()

    assert "- name: pgflow-host\n" in text
    assert '"pgflow-host=$4"' in (HOOKS / "host-kubernetes").read_text()


@pytest.mark.parametrize("name", ["systemd", "kubernetes", "processes"])
def test_every_example_is_a_hooks_file(database, tmp_path, name):
    path = tmp_path / "A.json"
    path.write_text(json.dumps(manifest("A", entry("triage-classify", "add", True, build_ids("noop"), queue="noop"))))

    shown = run_ctl("rollout", path, "run", "--dry-run", "--hooks", HOOKS / f"{name}.hooks.json", env={"PGFLOW_DATABASE": database.url})

    assert shown.returncode == 0, shown.stderr
    for verb in ("would ask status", "as far as needed, stop", "as far as needed, start"):
        assert f'function "triage-classify": {verb}: ' in shown.stdout, shown.stdout


def test_host_process_may_run_twice_and_makes_one_host(database, tmp_path):
    site = Site(database, tmp_path)
    site.configure("fn", "noop", ["noop"])
    try:
        assert site.hook("status", "fn") == "stopped"
        site.hook("stop", "fn")
        starts = [subprocess.Popen([HOOKS / "host-process", "start", tmp_path, "fn"], env=environment(**site.host_environment))
                  for _ in range(3)]
        assert [start.wait() for start in starts] == [0, 0, 0]
        site.hook("start", "fn")
        site.until_working(["fn"])

        assert site.hosts_of("fn") == 1
        assert site.hook("status", "fn") == "running"
        site.hook("stop", "fn")
        site.hook("stop", "fn")
        assert site.hook("status", "fn") == "stopped"
        assert database.value("select count(*) from pgflow.workers where stopped_at is null") == 0
    finally:
        site.end()
