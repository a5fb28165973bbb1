"""Completion of command lines, in the shells themselves: lines are typed at a terminal."""

import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import pytest

from lib.paths import CTL, PATIENCE, SOURCE, module
from lib.programs import environment, wait_gone, wait_until

SCRIPTS = SOURCE / "ctl" / "completion"
END = "typed to the end"


class Shell:
    """An interactive bash or zsh. `complete` types a line and a tab, then makes a printf of it."""

    def __init__(self, command, setup, folder, **variables):
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "cols", "200", "rows", "50"], stdin=theirs, check=True)
        env = environment(TERM="dumb", **variables)
        env["PATH"] = f"{CTL.parent}:{env['PATH']}"
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=folder, start_new_session=True
        )
        os.close(theirs)
        self._terminal = ours
        self._run(setup)

    def _run(self, text):
        """Type, and give what the terminal showed until the end was echoed."""
        os.write(self._terminal, text.encode() + f"; echo {END[:3]}''{END[3:]}\n".encode())
        seen = ""
        until = time.monotonic() + PATIENCE
        while END not in seen:
            assert time.monotonic() < until, seen
            seen += os.read(self._terminal, 65536).decode("utf-8", "replace")
        return seen

    def complete(self, line):
        """The words of the line after one tab, and all that was shown."""
        seen = self._run(f"{line}\t\x01printf '<%s>\\n' \x05")
        return re.findall(r"^<(.*)>\r$", seen, re.MULTILINE), seen

    def close(self):
        self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._terminal)


BASH_SETUP = (
    "bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; bind 'set bell-style none';"
    " bind 'set enable-bracketed-paste off'; PS1=; source " + str(SCRIPTS / "pgflowctl.bash")
)


@contextlib.contextmanager
def bash(folder, **variables):
    shell = Shell(["bash", "--norc", "--noprofile", "-i"], BASH_SETUP, folder, **variables)
    try:
        yield shell
    finally:
        shell.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A bash without a database, in a folder with some files."""
    folder = tmp_path_factory.mktemp("bash")
    for name in ("flow.so", "flow.txt", "plan.json"):
        (folder / name).touch()
    (folder / "flows").mkdir()
    with bash(folder, PGFLOW_DATABASE=f"postgresql://postgres@/none?host={folder}") as shell:
        yield shell


def last(shell, line):
    words, seen = shell.complete(line)
    return words[-1] if words else seen


def test_queue_comes_from_the_modules_already_typed(alone):
    line = f"pgflow-host --plugin {module('routed_v1')} --plugin {module('chain')} --queue "

    assert last(alone, line + "rout") == "routed_mai"  # main and mail
    assert last(alone, line + "ch") == "chain"


def test_several_queues_are_shown(alone):
    _, seen = alone.complete(f"pgflow-host --plugin {module('routed_v1')} --queue ")

    assert "routed_main" in seen and "routed_mail" in seen


def test_values_behind_an_equals_sign_are_completed(alone):
    assert last(alone, f"pgflow-host --plugin={module('chain')} --queue=ch") == "--queue=chain"
    assert last(alone, "pgflow-host --log-format=pr") == "--log-format=pretty"


def test_no_module_is_read_that_is_none(alone):
    words, seen = alone.complete("pgflow-host --plugin flow.txt --queue ro")

    assert words[-1] == "ro", seen


def test_plugins_are_files_that_end_so(alone):
    assert last(alone, "pgflow-host --plugin flow.") == "flow.so"
    assert last(alone, "pgflow-host --plugin ./flow.") == "./flow.so"
    assert last(alone, "pgflow-host --module-dir fl") == "flows/"
    assert last(alone, "pgflowctl inspect flow.") == "flow.so"
    assert last(alone, "pgflowctl rollout pl") == "plan.json"


def test_commands_options_and_words_are_completed(alone):
    assert last(alone, "pgflowctl doc") == "doctor"
    assert last(alone, "pgflowctl workers --wa") == "--watch"
    assert last(alone, "pgflowctl workers --watch --wa") == "--wa"
    assert last(alone, "pgflowctl --json functions dep") == "deprecate"
    assert last(alone, "pgflowctl rollout plan.json st") == "status"
    assert last(alone, "pgflowctl rollout plan.json run --until dr") == "drain"
    assert last(alone, "pgflowctl graph --format d") == "dot"
    assert last(alone, f"pgflowctl exec {module('routed_v1')} --step prep") == "prepare"
    assert last(alone, "pgflow-host --drain") == "--drain-timeout"


def test_the_helper_is_not_offered(alone):
    assert last(alone, "pgflowctl compl") == "compl"


def test_without_a_database_nothing_is_said(alone):
    words, seen = alone.complete("pgflowctl start ch")

    assert words[-1] == "ch" and "pgflowctl:" not in seen


def test_module_that_never_loads_ends_the_answer_and_its_process():
    words = b"".join(word + b"\0" for word in (b"pgflow-host", b"--plugin", os.fsencode(module("ctor_hangs")), b"--queue", b""))

    asked = subprocess.Popen([CTL, "complete"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    asked.stdin.write(words)
    asked.stdin.close()
    wait_until(lambda: children(asked.pid))
    loading = children(asked.pid)

    assert asked.wait(PATIENCE) == -signal.SIGALRM
    assert (asked.stdout.read(), asked.stderr.read()) == (b"", b"")
    for pid in loading:
        wait_gone(pid)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listed:
        return [int(child) for child in listed.read().split()]


def test_flows_runs_and_functions_come_from_the_database(database, hosts, tmp_path):
    hosts.start(queue="chain", plugins=["chain"])
    run = database.start_flow("chain")

    with bash(tmp_path, PGFLOW_DATABASE=database.url) as shell:
        assert last(shell, "pgflowctl start ch") == "chain"
        assert last(shell, f"pgflowctl run {run[:8]}") == run
        assert last(shell, "pgflowctl coverage ch") == "chain"
        assert last(shell, "pgflowctl functions disable pgf") == "pgflow-host/chain"
        assert last(shell, "pgflow-host --function pgf") == "pgflow-host/chain"


def test_database_that_is_typed_is_the_one_asked(alone, database, hosts):
    hosts.start(queue="chain", plugins=["chain"])

    assert last(alone, f"pgflowctl --database '{database.url}' start ch") == "chain"


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@contextlib.contextmanager
def zsh(folder):
    setup = f"PS1=; fpath=({SCRIPTS} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt zle_bracketed_paste 2>/dev/null; true"
    shell = Shell(["zsh", "-f", "-i"], setup, folder, PGFLOW_DATABASE=f"postgresql://postgres@/none?host={folder}")
    with contextlib.closing(shell):
        yield shell


def test_zsh_completes_the_same(tmp_path):
    with zsh(tmp_path) as shell:
        assert last(shell, f"pgflow-host --plugin {module('chain')} --queue ch") == "chain"
        assert last(shell, f"pgflow-host --plugin {module('chain')} --queue=ch") == "--queue=chain"
        assert last(shell, "pgflowctl doc") == "doctor"


ODD = "it's an odd $folder"
ODD_WORDS = (
    '"it\'s an odd \\$folder/flow.so"', "it\\'s\\ an\\ odd\\ \\$folder/flow.so", "'it'\\''s an odd $folder/flow.so'")


def odd_folder(folder):
    (folder / ODD).mkdir()
    shutil.copy(module("chain"), folder / ODD / "flow.so")
    (folder / "two words.so").touch()


@pytest.mark.parametrize("shell_of", [bash, zsh])
def test_quoted_words_are_read_as_the_shell_reads_them(tmp_path, shell_of):
    odd_folder(tmp_path)

    with shell_of(tmp_path) as shell:
        for word in ODD_WORDS:
            assert last(shell, f"pgflow-host --plugin {word} --queue ch") == "chain"
            assert last(shell, f"pgflow-host --plugin={word} --queue ch") == "chain"
        assert last(shell, "pgflow-host --plugin two") == "two words.so"


def fish(line, folder):
    """What fish would offer: each line a word, with a tab and what it is."""
    env = environment(PGFLOW_DATABASE=f"postgresql://postgres@/none?host={folder}", HOME=folder, LANG="C.UTF-8")
    env["PATH"] = f"{CTL.parent}:{env['PATH']}"
    quoted = line.replace("\\", "\\\\").replace("'", "\\'")
    command = f"source {SCRIPTS}/pgflowctl.fish; complete -C '{quoted}'"
    shown = subprocess.run(
        ["fish", "--no-config", "-c", command], env=env, cwd=folder, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE
    )
    return [offered.split("\t")[0] for offered in shown.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_the_same(tmp_path):
    (tmp_path / "flow.so").touch()

    assert set(fish(f"pgflow-host --plugin {module('routed_v1')} --queue ", tmp_path)) == {"routed_main", "routed_mail"}
    assert fish(f"pgflow-host --plugin {module('chain')} --queue=ch", tmp_path) == ["--queue=chain"]
    assert fish("pgflowctl doc", tmp_path) == ["doctor"]
    assert fish("pgflow-host --plugin flow", tmp_path) == ["flow.so"]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_reads_quoted_words(tmp_path):
    odd_folder(tmp_path)

    for word in ODD_WORDS:
        assert fish(f"pgflow-host --plugin {word} --queue ch", tmp_path) == ["chain"]
    assert fish("pgflow-host --plugin two", tmp_path) == ["two words.so"]


def test_tab_maps_no_module_that_others_can_write(tmp_path):
    """Its constructors would run, and nobody asked for that."""
    file = tmp_path / "flow.so"
    shutil.copy(module("ctor_prints"), file)
    words = b"".join(word + b"\0" for word in (b"pgflow-host", b"--plugin", os.fsencode(file), b"--queue", b""))

    def completed(mode):
        file.chmod(mode)
        return subprocess.run([CTL, "complete"], input=words, env=environment(), capture_output=True, check=True).stdout

    assert completed(0o755) != b""
    assert completed(0o777) == b""
