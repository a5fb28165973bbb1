"""Fixtures: each test gets a database of its own and hosts that end with it."""

import contextlib
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

from lib import database as databases
from lib import programs


def pytest_configure():
    # A TERM (ctest's timeout, an interrupted script) must run the teardown.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@pytest.fixture(scope="session")
def template():
    """Migrated once; databases are copies of it."""
    databases.make_template()


@contextlib.contextmanager
def a_database(**options):
    made = databases.Database(**options)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def hosts_on(database, folder):
    started = programs.Hosts(database, folder)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture
def database(template):
    with a_database() as made:
        yield made


@pytest.fixture
def empty_database():
    """A database that nobody has migrated."""
    with a_database(template="template0") as made:
        yield made


@pytest.fixture
def hosts(database, tmp_path):
    with hosts_on(database, tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def shared_database(template):
    """One database for all tests of a file, for those that disturb nobody."""
    with a_database() as made:
        yield made


@pytest.fixture(scope="module")
def shared_hosts(shared_database, tmp_path_factory):
    with hosts_on(shared_database, tmp_path_factory.mktemp("hosts")) as started:
        yield started


@pytest.fixture
def public_folder():
    """One that every user can pass through, unlike pytest's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pgflow-e2e-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class WorkerLogin:
    """A login of the role pgflow_worker, for hosts that do not run as the owner."""

    def __init__(self, database):
        self.name = f"host_{database.name}"
        self.url = database.url.replace("postgres@", f"{self.name}@")
        self.environment = {"PGFLOW_DATABASE": self.url}


@pytest.fixture
def worker_login(database):
    login = WorkerLogin(database)
    database.rows(f"create role {login.name} login in role pgflow_worker")
    yield login
    database.rows(f"drop role {login.name}")
