"""The Debian packages: what they hold, what they ask for, and that their programs work from there."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from lib.paths import BUILD, SOURCE, module
from lib.programs import Program, environment

PROGRAMS = ("usr/bin/pgflow-host", "usr/bin/pgflowctl", "usr/libexec/pgflow/pgflow-runner")


def command(*words, folder=None, **env):
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment(**env), text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def packages():
    """The files by package name, made as scripts/package makes them."""
    with tempfile.TemporaryDirectory(prefix="pgflow-") as folder:
        command("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder, folder=folder)
        yield {path.name.split("_")[0]: path for path in pathlib.Path(folder).glob("*.deb")}


@pytest.fixture(scope="module")
def unpacked(packages):
    """Each package below its name, with its control files in DEBIAN."""
    with tempfile.TemporaryDirectory(prefix="pgflow-") as folder:
        for name, path in packages.items():
            command("dpkg-deb", "-R", path, pathlib.Path(folder) / name)
        yield pathlib.Path(folder)


def fields(package):
    lines = command("dpkg-deb", "-f", package).splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(" "))


def test_there_is_one_package_to_run_flows_and_one_to_write_them(packages):
    assert set(packages) == {"pgflow-host", "pgflow-sdk-dev"}
    for name, path in packages.items():
        assert fields(path)["Package"] == name
        assert name in path.name


def test_host_package_depends_on_the_libraries_that_its_programs_load(packages, unpacked):
    depends = fields(packages["pgflow-host"])["Depends"]

    for library in ("libc6", "libcjson1", "libelf1", "libpq5", "libssl3", "libuv1"):
        assert f"{library} (>= " in depends, depends
    assert "Depends" not in fields(packages["pgflow-sdk-dev"])


def test_files_lie_where_debian_wants_them(unpacked):
    host, sdk = unpacked / "pgflow-host", unpacked / "pgflow-sdk-dev"

    for path in (*PROGRAMS, "usr/lib/systemd/system/pgflow-host@.service", "usr/share/pgflow/sql/schema.sql"):
        assert (host / path).is_file(), path
    for path in ("usr/include/pgflow/module.h", "usr/share/cmake/PgflowSDK/PgflowSDKConfig.cmake"):
        assert (sdk / path).is_file(), path
        assert not (host / path).exists(), path
    # Below usr/lib and perhaps a folder of the architecture, which the second one names.
    (library,) = sdk.rglob("libpgflow-testkit.a")
    assert sorted(path.relative_to(library.parent) for path in sdk.rglob("*.pc")) == [
        pathlib.Path("pkgconfig/pgflow-sdk.pc"), pathlib.Path("pkgconfig/pgflow-testkit.pc"),
        pathlib.Path("pkgconfig/pgflow.pc")]
    outside = {path.name for path in (*host.iterdir(), *sdk.iterdir())} - {"DEBIAN", "etc", "usr"}
    assert outside == set()


def test_configuration_is_kept_over_upgrades_and_private(unpacked):
    host = unpacked / "pgflow-host"

    assert (host / "DEBIAN/conffiles").read_text().split() == ["/etc/pgflow/host.conf"]
    assert (host / "etc/pgflow/host.conf").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "script, argument, asked",
    [
        ("postinst", "configure", "daemon-reload"),
        ("prerm", "remove", "stop pgflow-host@*.service"),
        ("prerm", "upgrade", ""),
        ("postrm", "remove", "daemon-reload"),
    ],
)
def test_installing_starts_nothing_and_an_upgrade_leaves_hosts_alone(unpacked, tmp_path, script, argument, asked):
    asked_for = tmp_path / "asked"
    stand_in = tmp_path / "systemctl"
    stand_in.write_text(f'#!/bin/sh\necho "$*" >>{asked_for}\n')
    stand_in.chmod(0o755)
    (tmp_path / "running").mkdir()
    text = (unpacked / "pgflow-host/DEBIAN" / script).read_text()
    # The folder by which systemd shows that it runs.
    here = tmp_path / script
    here.write_text(text.replace("/run/systemd/system", str(tmp_path / "running")))

    command("sh", here, argument, PATH=f"{tmp_path}:{os.environ['PATH']}")

    said = asked_for.read_text().strip() if asked_for.exists() else ""
    assert said == asked


def test_programs_of_the_package_serve_a_flow(unpacked, empty_database, tmp_path):
    programs = unpacked / "pgflow-host/usr/bin"
    command(programs / "pgflowctl", "migrate", DATABASE_URL=empty_database.url)
    options = ["--plugin", module("noop"), "--module-dir", tmp_path / "copies", "--log-format", "json"]
    host = Program([programs / "pgflow-host", *options], environment(DATABASE_URL=empty_database.url), tmp_path)
    try:
        host.log.wait("ready")
        empty_database.wait_run(empty_database.start_flow("noop"))
        (runner,) = host.children()
        # Executed from a descriptor, so its own link says which file it is.
        running = os.readlink(f"/proc/{runner}/exe") if os.geteuid() == 0 else None
        host.stop()
    finally:
        host.kill()
    assert running in (None, str(unpacked / "pgflow-host/usr/libexec/pgflow/pgflow-runner"))


def test_packages_name_no_folder_of_the_build(unpacked):
    for path in unpacked.rglob("*"):
        # Objects of the test kit have debug information.
        if path.is_file() and path.suffix != ".a":
            assert str(SOURCE).encode() not in path.read_bytes(), path


def test_recipe_of_the_image_names_what_the_package_and_the_host_have(unpacked):
    recipe = (SOURCE / "packaging/container/Containerfile").read_text()
    (entry,) = re.findall(r'^ENTRYPOINT \["/(.*)"\]$', recipe, re.M)
    set_there = re.findall(r"\bPGFLOW_([A-Z_]+)=", recipe)
    program = unpacked / "pgflow-host" / entry

    assert program.is_file()
    assert set_there
    for name in set_there:
        assert f"--{name.lower().replace('_', '-')} " in command(program, "--help")
    assert "scripts/package /packages" in recipe and os.access(SOURCE / "scripts/package", os.X_OK)


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not installed")
def test_lintian_finds_no_fault(packages):
    # That folders of libraries are without the architecture: a build for /usr names it.
    of_this_build = ["--suppress-tags", "pkg-config-unavailable-for-cross-compilation"]
    judged = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", *of_this_build, *map(str, packages.values())],
        env=environment(), text=True, capture_output=True, check=False,
    )

    assert judged.returncode == 0, judged.stdout + judged.stderr
