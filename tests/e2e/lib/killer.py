"""A proxy that kills the program that speaks through it, at its n-th statement."""

import contextlib
import os
import signal
import socket
import struct
import tempfile
import threading

PARSE = b"P"


class Killer:
    """Listens on a unix socket of its own; a program connects to `url` instead of the database's.

    At the statement number `nth` (from 1) the program is killed by SIGKILL: `before` the server
    gets the statement, or behind that. `reached` tells whether there was such a statement.
    """

    def __init__(self, database, nth, before):
        self._nth, self._before, self._seen = nth, before, 0
        self._folder = tempfile.mkdtemp(prefix="kill-", dir=os.environ["PGHOST"])
        self._server = os.path.join(os.environ["PGHOST"], f".s.PGSQL.{os.environ['PGPORT']}")
        self._path = os.path.join(self._folder, f".s.PGSQL.{os.environ['PGPORT']}")
        self.url = database.url.replace(f"host={os.environ['PGHOST']}", f"host={self._folder}")
        self.reached = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen(4)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            pid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()
            threading.Thread(target=self._statements, args=(client, server, pid), daemon=True).start()

    @staticmethod
    def _answers(server, client):
        try:
            while data := server.recv(65536):
                client.sendall(data)
        except OSError:
            pass
        client.close()
        server.close()

    def _statements(self, client, server, pid):
        try:
            # The packets before the session have no type: as many as it takes until the server's turn to ask.
            self._pass_startup(client, server)
            while head := read(client, 5):
                body = read(client, struct.unpack("!i", head[1:])[0] - 4)
                if head[:1] == PARSE and self._is_the_one():
                    self._kill(pid, server, head + body)
                    break
                server.sendall(head + body)
        except OSError:
            pass
        # Not merely closed: the thread of the answers is reading from it.
        with contextlib.suppress(OSError):  # that thread has closed it already
            server.shutdown(socket.SHUT_WR)

    @staticmethod
    def _pass_startup(client, server):
        while True:
            size = read(client, 4)
            body = read(client, struct.unpack("!i", size)[0] - 4)
            server.sendall(size + body)
            if struct.unpack("!i", body[:4])[0] >> 16 == 3:
                return

    def _is_the_one(self):
        self._seen += 1
        return self._seen == self._nth

    def _kill(self, pid, server, message):
        self.reached = True
        # First of all: of what follows the program must hear nothing, for it did not ask for it.
        os.kill(pid, signal.SIGKILL)
        if not self._before:
            # Whole: parsed, run and committed, unless the server notices first that nobody listens.
            server.sendall(message + b"B" + struct.pack("!i", 12) + b"\0\0" + bytes(6) + b"E" + struct.pack("!i", 9) + bytes(5)
                           + b"S" + struct.pack("!i", 4))

    def close(self):
        self._listener.close()


def read(connection, size):
    """So many bytes, or none at its end."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data
