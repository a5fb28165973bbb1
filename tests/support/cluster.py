"""Databases of the private cluster that with-postgres started, for the tests in Python: one a test, made from a
migrated template where a test wants the schema."""

import os
import pathlib
import subprocess
import uuid

import psycopg2


def administer(*statements):
    """Each is a transaction of its own, as its owner, in no database of a test."""
    connection = psycopg2.connect(dbname="postgres")
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    finally:
        connection.close()


def create(template=None):
    """Gives the name of a new database."""
    name = "t_" + uuid.uuid4().hex[:12]
    administer(f"create database {name}" + (f" template {template}" if template else ""))
    return name


def drop(name):
    # Kept where the SQL functions called are counted (with-postgres).
    if "PGF_CALLED_FUNCTIONS" not in os.environ:
        administer(f"drop database if exists {name} with (force)")


FROZEN = pathlib.Path(__file__).resolve().parents[2] / "sql" / "migrations" / "0001_core.sql"


def load(name, *files):
    loaded = [word for file in files for word in ("-f", str(file))]
    if loaded:
        subprocess.run(["psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", name, *loaded], check=True)


def begin_with_version_1(name):
    """Where PGFLOW_SCHEMA asks for a database that was upgraded. False: it does not."""
    if os.environ.get("PGFLOW_SCHEMA") != "upgraded":
        return False
    load(name, FROZEN)
    return True


def make_template(*files):
    """A database with the migration that PGFLOW_MIGRATION names, and more SQL files; gives its name."""
    name = create()
    if begin_with_version_1(name):
        url = f"dbname={name} host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']}"
        subprocess.run([os.environ["PGFLOWCTL"], "migrate", "--database", url], check=True, stdout=subprocess.DEVNULL)
    else:
        load(name, os.environ["PGFLOW_MIGRATION"])
    load(name, *files)
    return name
