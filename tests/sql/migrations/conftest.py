"""An empty database for each test."""
import pathlib
import sys

import psycopg2
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cluster  # noqa: E402


class Database:
    def __init__(self, name):
        self.name, self.connections = name, []

    def connect(self):
        connection = psycopg2.connect(dbname=self.name)
        connection.autocommit = True
        self.connections.append(connection)
        return connection

    def run(self, statement):
        cursor = self.connect().cursor()
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def database():
    database = Database(cluster.create())
    yield database
    for connection in database.connections:
        connection.close()
    cluster.drop(database.name)
