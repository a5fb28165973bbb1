"""The Kubernetes manifest: its container, started with its arguments, answers its probes and its hook."""

import subprocess

import pytest
from lib.exposition import get
from lib.paths import SOURCE, module
from lib.programs import environment, run_host

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

MANIFEST = SOURCE / "packaging" / "kubernetes" / "pgflow-host.yaml"


@pytest.fixture(scope="module")
def deployment():
    (parsed,) = yaml.safe_load_all(MANIFEST.read_text())
    return parsed


@pytest.fixture(scope="module")
def pod(deployment):
    return deployment["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod):
    (only,) = pod["containers"]
    return only


def options_of(container):
    return [argument.removeprefix("--").split("=", 1) for argument in container["args"]]


@pytest.fixture
def host(database, hosts, container):
    """Started with the manifest's arguments, but for what names this machine's parts."""
    replaced = {"queue", "plugin", "module-dir", "log-format"}
    options = [f"--{name}={value}" for name, value in options_of(container) if name not in replaced]
    here = [option.replace("0.0.0.0:9187", "127.0.0.1:0") for option in options]
    return hosts.start(*here, queue="noop", plugins=["noop"])


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_are_answered_by_a_host_that_claims(host, container, probe):
    asked = container[probe]["httpGet"]

    status, said = get(host, asked["path"])

    assert status == 200, said


def test_hook_before_a_stop_leaves_the_state_in_the_log(host, container):
    program, *arguments = container["lifecycle"]["preStop"]["exec"]["command"]
    # In the container the host is process 1.
    (script,) = [word for word in arguments if "kill" in word]

    subprocess.run([program, "-c", script.replace(" 1", f" {host.pid}")], check=True, env=environment())

    host.log.wait("state")
    host.stop()


def test_every_argument_is_an_option_of_the_host(database, container, tmp_path):
    here = {"queue": "noop", "plugin": module("noop"), "module-dir": tmp_path, "metrics-listen": "127.0.0.1:0"}
    options = {name: here.get(name, value) for name, value in options_of(container)}
    variables = {variable["name"]: database.url for variable in container["env"]}

    checked = run_host("--check", *(f"--{name}={value}" for name, value in options.items()), env=variables)

    assert checked.returncode == 0, checked.stderr


def test_grace_of_a_stop_is_longer_than_the_host_takes(pod, container):
    assert pod["terminationGracePeriodSeconds"] == int(dict(options_of(container))["drain-timeout"]) + 10


def test_a_start_may_wait_for_the_database_before_it_is_given_up(container):
    probe = container["startupProbe"]

    assert probe["periodSeconds"] * probe["failureThreshold"] > 30  # --connect-timeout


def test_probes_ask_the_port_that_the_host_listens_on(deployment, container):
    (port,) = container["ports"]
    number = int(dict(options_of(container))["metrics-listen"].rpartition(":")[2])

    assert port["containerPort"] == number
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(number)


def test_the_deployment_selects_its_own_pods_and_mounts_what_it_declares(deployment, pod, container):
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_the_container_has_no_more_rights_than_a_host_needs(pod, container):
    held = container["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"] and not held["allowPrivilegeEscalation"]
    assert held["readOnlyRootFilesystem"] and held["capabilities"] == {"drop": ["ALL"]}
    written = dict(options_of(container))["module-dir"]
    assert any(written.startswith(mount["mountPath"] + "/") for mount in container["volumeMounts"])
