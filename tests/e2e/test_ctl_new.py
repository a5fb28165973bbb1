"""pgflowctl new: what it writes builds out of tree against an installed SDK, passes its test, and runs."""

import json
import os
import shutil
import subprocess

import pytest

from lib.paths import BUILD, PATIENCE, SOURCE
from lib.programs import run_ctl

# What this build's test kit must be linked with.
KIT_LINK = os.environ.get("PGFLOW_KIT_LINK", "")
LANGUAGES = ("c", "c++", "rust")


def run(command, folder, **environment):
    result = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
        umask=0o002,  # the default where each user has a group of their own
    )
    assert result.returncode == 0, f"{command}:\n{result.stdout}"
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation of everything, moved to where nobody configured it."""
    first = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", BUILD, "--prefix", first], first.parent)
    second = first.with_name("second")
    first.rename(second)
    return second


def build(flow, language, prefix):
    """As the README in the folder says."""
    if language == "rust":
        # Debian's, also where a newer one comes first on the PATH.
        run(["make", "check"], flow, RUSTC="/usr/bin/rustc", PKG_CONFIG_PATH=str(prefix / "lib" / "pkgconfig"))
        return
    flags = ["-DCMAKE_C_FLAGS=-Werror", "-DCMAKE_CXX_FLAGS=-Werror", f"-DCMAKE_EXE_LINKER_FLAGS={KIT_LINK}"]
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", *flags], flow)
    run(["cmake", "--build", "build"], flow)
    run(["ctest", "--test-dir", "build", "--output-on-failure"], flow)


@pytest.fixture(scope="module", params=LANGUAGES)
def made(request, prefix, tmp_path_factory):
    """The module of a new flow, built and tested; its alias is the name of the folder."""
    if request.param == "rust" and KIT_LINK:
        pytest.skip("rustc does not link a test kit that was built with a sanitizer or for coverage")
    folder = tmp_path_factory.mktemp("new")
    folder.chmod(0o755)
    name = f"sample_{request.param.replace('+', 'p')}"
    run([prefix / "bin" / "pgflowctl", "new", name, "--lang", request.param], folder)
    build(folder / name, request.param, prefix)
    return folder / name / "build" / f"{name}_v1.so"


def alias(made):
    return made.parent.parent.name


def test_new_flow_is_a_module_that_nothing_can_be_said_against(made, prefix):
    ctl = prefix / "bin" / "pgflowctl"
    inspected = json.loads(run([ctl, "inspect", made, "--json"], made.parent))
    executed = run([ctl, "exec", made, "--step", "square", "--input", "7"], made.parent)

    assert (inspected["flowSlug"], inspected["alias"]) == (made.stem, alias(made))
    assert [step["slug"] for step in inspected["steps"]] == ["count_up", "square", "add_up"]
    assert executed.startswith("49\n")
    run([ctl, "lint", made], made.parent)
    assert made.stat().st_size < 1 << 20  # every host keeps a copy; a static standard library's debug information is 12 MB


def test_ci_job_stops_a_build_that_would_break_open_runs(made, prefix, database):
    """The job of the template, on the very build; with a released module of another contract; with the same one."""
    folder = made.parent.parent
    job = {"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
    options = [f"-DCMAKE_PREFIX_PATH={prefix}"]
    if folder.name.endswith("rust"):
        options, job = [], {**job, "RUSTC": "/usr/bin/rustc", "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    (folder / "released").mkdir()
    shutil.copy(made, folder / "released" / made.name)
    source = next(path for path in folder.rglob("sample_*") if path.suffix in (".c", ".cpp", ".rs"))
    text = source.read_text()

    run(["sh", "ci.sh", *options], folder, **job)
    source.write_text(text.replace("n -> n * n", "n -> n * n, as text"))
    refused = subprocess.run(["sh", "ci.sh", *options], cwd=folder, env={**os.environ, **job}, text=True, capture_output=True, check=False)
    source.write_text(text)
    run(["sh", "ci.sh", *options], folder, **job)

    assert refused.returncode != 0, refused.stdout
    assert 'contract of step square: "n -> n * n" -> "n -> n * n, as text"' in refused.stdout, refused.stdout

    # The same by what the database needs.
    database.rows("select pgflow.ensure_deployment(%s)", run_ctl("inspect", made, "--json").stdout)
    (folder / "released" / made.name).unlink()
    (folder / "released" / "needs.json").write_text(run_ctl("snapshot", "--database", database.url).stdout)
    run(["sh", "ci.sh", *options], folder, **job)
    source.write_text(text.replace("n -> n * n", "n -> n * n, as text"))
    refused = subprocess.run(["sh", "ci.sh", *options], cwd=folder, env={**os.environ, **job}, text=True, capture_output=True, check=False)
    source.write_text(text)
    run(["sh", "ci.sh", *options], folder, **job)

    assert refused.returncode == 1 and "not safe" in refused.stdout, refused
    shutil.rmtree(folder / "released")


def test_new_flow_runs(made, database, hosts):
    hosts.start(plugins=[made])

    result = run_ctl("start", alias(made), "--input", "3", "--wait", "--output", env={"PGFLOW_DATABASE": database.url})

    assert json.loads(result.stdout) == {"add_up": 14}, result.stderr


def test_run_with_a_wrong_input_fails_with_the_reason(made, database, hosts):
    hosts.start(plugins=[made])

    result = run_ctl("start", alias(made), "--input", "1001", "--wait", env={"PGFLOW_DATABASE": database.url})

    assert result.returncode == 1
    assert "whole number from 1 to 1000" in result.stderr


def test_second_version_takes_the_alias_over_beside_the_first(made, database, hosts, prefix):
    """By the README: a new slug under the same alias, in a module and a host of its own."""
    if made.parent.parent.name != "sample_c":
        pytest.skip("the same in every language")
    folder = made.parent.parent
    for name in ("sample_c.c", "CMakeLists.txt"):
        (folder / name).write_text((folder / name).read_text().replace("sample_c_v1", "sample_c_v2"))
    build(folder, "c", prefix)
    hosts.start(plugins=[made])

    hosts.start(plugins=[made.with_name("sample_c_v2.so")])
    assert run_ctl("activate", "sample_c", "sample_c_v2", env={"PGFLOW_DATABASE": database.url}).returncode == 0
    started = run_ctl("start", "sample_c", "--input", "3", "--wait", "--output", env={"PGFLOW_DATABASE": database.url})
    drained = run_ctl("drain", "sample_c_v1", "--wait", env={"PGFLOW_DATABASE": database.url})

    assert json.loads(started.stdout) == {"add_up": 14}, started.stderr
    assert database.value("select flow_slug from pgflow.runs") == "sample_c_v2"
    assert drained.returncode == 0, drained.stderr


RUST_FLOW = """
mod pgflow;
use pgflow::{queue_mode, Call, Module, Names, Options, Outcome, Step};

fn give(call: &Call) -> Outcome {
    Ok(call.input().to_string())
}

static AFTER: Names<1> = Names::of([text!("first")]);
static FOUR: Options = Options::new().max_attempts(4);
static FIVE: Options = Options::new().max_attempts(5).base_delay_s(7).timeout_s(9).start_delay_s(11);
static STEPS: [Step; 2] = [
    Step::new(text!("first"), handler!(give)).on_queue(text!("think")).required_input(text!("{\\"a\\": 1}"))
        .when_unmet(text!("fail")).contract(text!("in/1 -> out/1")),
    Step::new(text!("second"), handler!(give)).map().after(&AFTER).wants_flow_input().on_queue(text!("deliver")).options(&FIVE)
        .forbidden_input(text!("{\\"b\\": 2}")).when_unmet(text!("skip-cascade")).when_exhausted(text!("skip")),
];

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static pgflow_module_v1: Module = Module::new(text!("all_v1"), &STEPS).alias(text!("all")).version(text!("1.2.3"))
    .queue_mode(queue_mode::ROUTED).options(&FOUR);
"""


def test_a_flow_in_rust_can_say_all_that_one_in_c_can(tmp_path):
    shutil.copy(SOURCE / "plugin-sdk" / "template" / "rust" / "src" / "pgflow.rs", tmp_path)
    (tmp_path / "all.rs").write_text(RUST_FLOW)
    run(["/usr/bin/rustc", "--edition", "2021", "--crate-type", "cdylib", "-o", "all.so", "all.rs"], tmp_path)

    flow = json.loads(run_ctl("inspect", tmp_path / "all.so", "--json").stdout)

    five = {"maxAttempts": 5, "baseDelay": 7, "timeout": 9, "startDelay": 11}
    first, second = flow["steps"]
    assert (flow["flowSlug"], flow["alias"], flow["version"], flow["queueMode"]) == ("all_v1", "all", "1.2.3", "routed")
    assert flow["options"] == {"maxAttempts": 4}
    assert (first["queue"], first["requiredInputPattern"]["value"], first["whenUnmet"]) == ("think", {"a": 1}, "fail")
    assert first["contract"] == "in/1 -> out/1"
    assert (second["stepType"], second["dependencies"], second["queue"]) == ("map", ["first"], "deliver")
    assert second["options"] == five and second["wantsFlowInput"] is True
    assert (second["forbiddenInputPattern"]["value"], second["whenUnmet"], second["whenExhausted"]) == ({"b": 2}, "skip-cascade", "skip")


def test_names_stand_everywhere_in_place_of_the_templates_own(tmp_path):
    result = run_ctl("new", "orders", "--lang", "c++", "--json", folder=tmp_path)

    files = sorted(str(path.relative_to(tmp_path / "orders")) for path in (tmp_path / "orders").rglob("*"))
    assert sorted(json.loads(result.stdout)["files"]) == files
    assert "orders.cpp" in files and "test_orders.cpp" in files
    assert not any("my_flow" in (tmp_path / "orders" / name).read_text() for name in files)


def test_nothing_that_is_there_is_overwritten(tmp_path):
    (tmp_path / "orders").mkdir()

    result = run_ctl("new", "orders", folder=tmp_path)

    assert result.returncode == 64
    assert "there already" in result.stderr
    assert not list((tmp_path / "orders").iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["1st"], "no name of a flow"),
        (["../up"], "no name of a flow"),
        (["two__parts"], "no name of a flow"),
        (["test"], "CMake"),
        (["a" * 45], "too long"),
        (["orders", "--lang", "go"], "c, c++ and rust"),
    ],
)
def test_wrong_use_is_64_and_writes_nothing(tmp_path, arguments, words):
    result = run_ctl("new", *arguments, folder=tmp_path)

    assert result.returncode == 64
    assert words in result.stderr
    assert not list(tmp_path.iterdir())
