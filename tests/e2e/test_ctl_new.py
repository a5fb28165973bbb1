"""pgflowctl new: what it writes builds out of tree against an installed SDK, passes its test, and runs."""

import json
import os
import subprocess

import pytest

from lib.paths import BUILD, PATIENCE
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
        run(["make", "check"], flow, RUSTC="/usr/bin/rustc", PKG_CONFIG_PATH=str(prefix / "share" / "pkgconfig"))
        return
    flags = ["-DCMAKE_C_FLAGS=-Werror", "-DCMAKE_CXX_FLAGS=-Werror", f"-DCMAKE_EXE_LINKER_FLAGS={KIT_LINK}"]
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", *flags], flow)
    run(["cmake", "--build", "build"], flow)
    run(["ctest", "--test-dir", "build", "--output-on-failure"], flow)


@pytest.fixture(scope="module", params=LANGUAGES)
def made(request, prefix, tmp_path_factory):
    """The module of a new flow, built and tested."""
    if request.param == "rust" and KIT_LINK:
        pytest.skip("rustc does not link a test kit that was built with a sanitizer or for coverage")
    folder = tmp_path_factory.mktemp("new")
    folder.chmod(0o755)
    name = f"sample_{request.param.replace('+', 'p')}"
    run([prefix / "bin" / "pgflowctl", "new", name, "--lang", request.param], folder)
    build(folder / name, request.param, prefix)
    return folder / name / "build" / f"{name}.so"


def test_new_flow_is_a_module_that_nothing_can_be_said_against(made, prefix):
    ctl = prefix / "bin" / "pgflowctl"
    inspected = json.loads(run([ctl, "inspect", made, "--json"], made.parent))
    executed = run([ctl, "exec", made, "--step", "square", "--input", "7"], made.parent)

    assert inspected["flowSlug"] == made.stem
    assert [step["slug"] for step in inspected["steps"]] == ["count_up", "square", "add_up"]
    assert executed.startswith("49\n")
    run([ctl, "lint", made], made.parent)


def test_new_flow_runs(made, database, hosts):
    hosts.start(plugins=[made])

    result = run_ctl("start", made.stem, "--input", "3", "--wait", "--output", env={"PGFLOW_DATABASE": database.url})

    assert json.loads(result.stdout) == {"add_up": 14}, result.stderr


def test_run_with_a_wrong_input_fails_with_the_reason(made, database, hosts):
    hosts.start(plugins=[made])

    result = run_ctl("start", made.stem, "--input", "1001", "--wait", env={"PGFLOW_DATABASE": database.url})

    assert result.returncode == 1
    assert "whole number from 1 to 1000" in result.stderr


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
        (["orders", "--lang", "go"], "c, c++ and rust"),
    ],
)
def test_wrong_use_is_64_and_writes_nothing(tmp_path, arguments, words):
    result = run_ctl("new", *arguments, folder=tmp_path)

    assert result.returncode == 64
    assert words in result.stderr
    assert not list(tmp_path.iterdir())
