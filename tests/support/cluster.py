"""Databases of the private cluster that with-postgres started, for the tests in Python: one a test, made from a
migrated template where a test wants the schema."""

import os
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


def make_template(*files):
    """A database with the migration that PGFLOW_MIGRATION names, and more SQL files; gives its name."""
    name = create()
    files = [os.environ["PGFLOW_MIGRATION"], *files]
    loaded = [word for file in files for word in ("-f", str(file))]
    subprocess.run(["psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", name, *loaded], check=True)
    return name
