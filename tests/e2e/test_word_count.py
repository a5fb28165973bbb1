"""The example word_count: built by Debian's own rustc, and run by a host."""

import os
import shutil
import subprocess

import pytest

from lib.paths import PATIENCE, SOURCE
from lib.programs import run_ctl

EXAMPLE = SOURCE / "plugins" / "examples" / "word_count_rs"
TEMPLATE = SOURCE / "plugin-sdk" / "template" / "rust"


@pytest.fixture(scope="module")
def word_count(tmp_path_factory):
    """The module, after its own tests; built outside of the tree."""
    folder = tmp_path_factory.mktemp("rust") / "word_count"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("build"))
    built = subprocess.run(
        ["make", "check", "RUSTC=/usr/bin/rustc"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=4 * PATIENCE, check=False)
    assert built.returncode == 0, built.stdout
    module = folder / "build" / "word_count.so"
    for path in (folder, module.parent, module):
        path.chmod(0o755)
    return module


@pytest.fixture
def books(tmp_path):
    folder = tmp_path / 'folder "of" books'
    (folder / "deeper").mkdir(parents=True)
    (folder / "été.txt").write_text("one two\nthree\tfour, five\r\nno newline at the end")
    (folder / "empty").touch()
    (folder / "big").write_text("word after word\n" * 10_000)
    (folder / "deeper" / "not counted").write_text("six seven")
    with open(os.fsencode(folder) + b"/no\xffname", "wb") as file:
        file.write(b"not counted")
    return folder


def test_totals_are_those_of_wc(word_count, books, database, hosts):
    hosts.start(plugins=[word_count])
    counted = subprocess.run(
        ["wc", *sorted(str(path) for path in books.iterdir() if path.is_file() and "\udcff" not in path.name)],
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, text=True, check=True)

    run = database.start_flow("word_count", str(books))

    lines, words, size = map(int, counted.stdout.splitlines()[-1].split()[:3])
    assert database.wait_run(run).output == {"total": {"files": 3, "lines": lines, "words": words, "bytes": size}}
    assert (lines, size) == (10_002, 160_000 + os.path.getsize(books / "été.txt"))


def test_folder_that_is_not_there_fails_the_run_at_the_first_attempt(word_count, database, hosts):
    hosts.start(plugins=[word_count])

    run = database.start_flow("word_count", "/nowhere")

    database.wait_run(run, status="failed")
    task = database.task(run, "list_files")
    assert task.attempts_count == 1
    assert task.error_message.startswith("cannot read '/nowhere': No such file or directory")


def test_nothing_can_be_said_against_the_module(word_count):
    linted = run_ctl("lint", word_count)

    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_example_has_the_abi_of_the_template():
    assert (EXAMPLE / "src" / "pgflow.rs").read_text() == (TEMPLATE / "src" / "pgflow.rs").read_text()
