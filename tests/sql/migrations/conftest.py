"""An empty database for each test."""
import os
import uuid

import psycopg2
import pytest


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
    name = "t_" + uuid.uuid4().hex[:12]
    admin = psycopg2.connect(dbname=os.environ["PGDATABASE"])
    admin.autocommit = True
    admin.cursor().execute(f"create database {name}")
    database = Database(name)
    try:
        yield database
    finally:
        for connection in database.connections:
            connection.close()
        admin.cursor().execute(f"drop database {name} with (force)")
        admin.close()
