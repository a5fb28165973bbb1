"""Questions to the database that outlast its absence."""

import threading
import time

import psycopg2
import psycopg2.extras

PATIENCE = 120.0


def passes(error):
    """Is this trouble with the connection or the server, and not with what was asked?"""
    return isinstance(error, (psycopg2.OperationalError, psycopg2.InterfaceError)) or error.pgcode is None


class Asker:
    """One connection a thread, made anew when it was lost.

    Its sessions may write while a fault makes the server read-only for others.
    """

    def __init__(self, url):
        self._url = url
        self._local = threading.local()

    def _cursor(self):
        connection = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = psycopg2.connect(
                self._url,
                options="-c default_transaction_read_only=off",
                cursor_factory=psycopg2.extras.NamedTupleCursor,
            )
            connection.autocommit = True
            self._local.connection = connection
        return connection.cursor()

    def once(self, sql, *parameters):
        """Ask without a second try; a lost connection is an error."""
        with self._cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def rows(self, sql, *parameters, patience=PATIENCE):
        """Ask until there is an answer; only for what may happen twice."""
        end = time.monotonic() + patience
        while True:
            try:
                return self.once(sql, *parameters)
            except psycopg2.Error as error:
                self.close()
                if not passes(error) or time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def value(self, sql, *parameters, patience=PATIENCE):
        return self.rows(sql, *parameters, patience=patience)[0][0]

    def until(self, sql, *parameters, patience=PATIENCE):
        """Ask until the answer is true. False: it never was."""
        end = time.monotonic() + patience
        while not self.value(sql, *parameters):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def close(self):
        """The connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and not connection.closed:
            connection.close()
        self._local.connection = None
