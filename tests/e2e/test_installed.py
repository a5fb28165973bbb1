"""What `cmake --install` puts in place: moved elsewhere, it builds modules and runs them."""

import os
import pathlib
import re
import subprocess
import tempfile

import pytest
from lib.paths import BUILD, SOURCE
from lib.programs import Program, environment

OUTPUT = '{"sign": {"from": "pgflow", "letter": {"greet": {"hello": "Ada"}}}}'


def command(*words, folder=None, **env):
    """Run to the end in an environment of our own; gives what was printed."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment(**env), text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def install(prefix, **env):
    command("cmake", "--install", BUILD, "--prefix", prefix, "--strip", **env)
    return prefix


@pytest.fixture(scope="module")
def outside():
    """A folder outside of the source and build trees."""
    with tempfile.TemporaryDirectory(prefix="pgflow-") as folder:
        yield pathlib.Path(folder)


@pytest.fixture(scope="module")
def moved(outside):
    """An installation that lies elsewhere than it was installed to."""
    return install(outside / "first").rename(outside / "second")


@pytest.fixture(scope="module")
def examples(moved, outside):
    """The installed examples, built by the installed SDK."""
    folder = outside / "examples"
    for name in ("hello", "license_audit", "support_threads", "thumbnails"):
        source = moved / "share" / "doc" / "pgflow-sdk-dev" / "examples" / name
        command("cmake", "-G", "Ninja", "-S", source, "-B", folder / name, CMAKE_PREFIX_PATH=moved)
        command("cmake", "--build", folder / name)
    return folder


def hello_by_pkg_config(moved, folder):
    """The same module by the compiler alone."""
    source = moved / "share" / "doc" / "pgflow-sdk-dev" / "examples" / "hello" / "hello.c"
    env = {"PKG_CONFIG_PATH": moved / "lib" / "pkgconfig"}
    compile_flags = command("pkg-config", "--cflags", "pgflow-sdk", **env).split()
    link_flags = command("pkg-config", "--libs", "pgflow-sdk", **env).split()
    command("cc", *compile_flags, source, "-o", folder / "hello.so", *link_flags)
    return folder / "hello.so"


def serve(moved, module, database, folder):
    """Migrate, serve and run with installed programs alone; gives the run's output."""
    env = environment(DATABASE_URL=database.url)
    command(moved / "bin" / "pgflowctl", "migrate", DATABASE_URL=database.url)
    options = ["--plugin", module, "--module-dir", folder / "copies", "--log-format", "json"]
    host = Program([moved / "bin" / "pgflow-host", *options], env, folder)
    try:
        host.log.wait("ready")
        started = ("start", "hello", "--input", '"Ada"', "--wait", "--output")
        output = command(moved / "bin" / "pgflowctl", *started, folder=folder, DATABASE_URL=database.url)
        host.stop()
        return output
    finally:
        host.kill()


def test_manual_pages_and_completion_are_where_they_are_looked_for(moved):
    share = moved / "share"
    for page in ("man1/pgflow-host.1.gz", "man1/pgflow-runner.1.gz", "man1/pgflowctl.1.gz", "man5/pgflow-module.5.gz"):
        assert (share / "man" / page).is_file(), page
    for script in ("zsh/site-functions/_pgflowctl", "zsh/vendor-completions/_pgflowctl",
                   "fish/vendor_completions.d/pgflow-host.fish", "fish/vendor_completions.d/pgflowctl.fish"):
        assert (share / script).is_file(), script
    for program in ("pgflow-host", "pgflowctl"):
        script = share / "bash-completion" / "completions" / program
        assert "__pgflow_complete" in command("bash", "--norc", "-c", f". {script}; complete -p {program}")


@pytest.mark.parametrize("way", ["find_package", "pkg-config"])
def test_module_built_outside_by_the_installed_sdk_runs_on_the_installed_host(
    moved, examples, empty_database, tmp_path, way
):
    module = examples / "hello" / "hello.so" if way == "find_package" else hello_by_pkg_config(moved, tmp_path)

    output = serve(moved, module, empty_database, tmp_path)

    assert output.strip().splitlines()[-1] == OUTPUT


def test_demo_passes_with_installed_programs_and_modules_built_by_the_installed_sdk(moved, examples, tmp_path):
    (tmp_path / "bin").symlink_to(moved / "bin")
    (tmp_path / "plugins").symlink_to(examples / "license_audit")
    connection = {name: value for name, value in os.environ.items() if re.match("PG(?!F)", name)}

    said = command(SOURCE / "scripts/lib/demo/run", "--quick", DEMO_BUILD=tmp_path, **connection)

    assert re.search(r"demo: 3 runs completed, \d+ tasks, 0 lost, 0 repeated", said), said


def test_nothing_installed_names_the_tree_it_was_built_from(moved):
    for path in moved.rglob("*"):
        # Objects of the test kit have debug information.
        if path.is_file() and path.suffix != ".a":
            held = path.read_bytes()
            assert str(SOURCE).encode() not in held, path
            assert str(BUILD).encode() not in held, path


def test_links_between_installed_documents_hold(moved):
    top = moved / "share/doc"
    documents = [*top.rglob("*.md")]

    broken = [
        (str(document.relative_to(top)), link)
        for document in documents
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
        for target in [pathlib.Path(os.path.normpath(document.parent / link))]
        if not target.exists()
    ]

    assert len(documents) > 20 and broken == []


def test_the_unit_names_the_programs_and_the_folder_of_its_prefix(tmp_path):
    prefix = install(tmp_path / "prefix")

    unit = (prefix / "lib/systemd/system/pgflow-host@.service").read_text()

    assert f"ExecStart={prefix}/bin/pgflow-host " in unit
    assert f"LoadCredential=host.conf:{prefix}/etc/pgflow/%i.conf" in unit
    assert os.access(prefix / "bin" / "pgflow-host", os.X_OK)


def test_a_configuration_that_somebody_wrote_is_kept(tmp_path):
    prefix = install(tmp_path / "prefix")
    written = prefix / "etc" / "pgflow" / "host.conf"
    assert written.stat().st_mode & 0o777 == 0o600
    written.write_text("queue = mine\n")

    install(prefix)

    assert written.read_text() == "queue = mine\n"


def test_prefix_usr_has_its_configuration_in_etc_by_the_command_of_the_guide(tmp_path):
    guide = (SOURCE / "docs/operations/installing.md").read_text()
    line = re.search(r"^DESTDIR=.* cmake --install .*$", guide, re.M).group()
    # The build of the tests has another prefix than that of the guide.
    here = line.replace("$PWD/build/tree", str(tmp_path)).replace("build/package", str(BUILD)) + " --prefix /usr"

    command("bash", "-euc", here)

    assert (tmp_path / "etc/pgflow/host.conf").is_file()
    unit = (tmp_path / "usr/lib/systemd/system/pgflow-host@.service").read_text()
    assert "ExecStart=/usr/bin/pgflow-host " in unit
    assert "AssertPathExists=/etc/pgflow/%i.conf" in unit
