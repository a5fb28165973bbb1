"""A proxy between a host and PostgreSQL that can lose one answer: the statement commits, its answer does not arrive."""

import os
import socket
import struct
import threading

STARTUP = b""


class Proxy:
    """Listens on a unix socket of its own; hosts connect to `url` instead of the database's.

    lose(call, word) is armed once: the first answer of a statement that contains `call`, and
    that itself contains `word`, is swallowed after the server has committed (its ReadyForQuery
    is here), and both sides of the connection are closed.
    """

    def __init__(self, database, folder):
        # A path of a unix socket has a limit of 107 bytes; the cluster's folder is short.
        self._folder = os.path.join(os.environ["PGHOST"], f"proxy-{os.path.basename(folder)[:20]}")
        os.mkdir(self._folder)
        self._server = os.path.join(os.environ["PGHOST"], f".s.PGSQL.{os.environ['PGPORT']}")
        self.url = database.url.replace(f"host={os.environ['PGHOST']}", f"host={self._folder}")
        self._armed = None
        self.lost = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self._folder, f".s.PGSQL.{os.environ['PGPORT']}"))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, call, word):
        self._armed = (call.encode(), word.encode())

    def matches(self, statement, answer):
        """True once: this answer is the one to lose."""
        armed = self._armed
        if armed is None or armed[0] not in statement or armed[1] not in answer:
            return False
        self._armed = None
        return True

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server)
            except OSError:
                client.close()
                continue
            Session(self, client, server).start()

    def close(self):
        self._listener.close()


class Session:
    """One connection: remembers what was asked, hands on answers whole, from one ReadyForQuery to the next."""

    def __init__(self, proxy, client, server):
        self._proxy, self._client, self._server = proxy, client, server
        self._prepared = {}
        self._asked = [STARTUP]
        self._asking = b""
        self._lock = threading.Lock()

    def start(self):
        for work in (self._client_side, self._server_side):
            threading.Thread(target=work, daemon=True).start()

    def _client_side(self):
        try:
            self._server.sendall(b"".join(read_message(self._client, typed=False)))
            while True:
                kind, body = read_message(self._client)
                self._note(kind, body[4:])
                self._server.sendall(kind + body)
        except OSError:
            self._close()

    def _note(self, kind, body):
        """What this part of the conversation asks; a Sync or a simple query ends it with one ReadyForQuery."""
        if kind == b"P":
            name, text = body.split(b"\0")[:2]
            self._prepared[name] = text
        elif kind == b"B":
            self._asking += self._prepared.get(body.split(b"\0")[1], b"")
        elif kind in b"SQ":
            with self._lock:
                self._asked.append(self._asking + (body if kind == b"Q" else b""))
            self._asking = b""

    def _server_side(self):
        answer = b""
        try:
            while True:
                kind, body = read_message(self._server)
                answer += kind + body
                # Authentication is a dialogue, and notices and notifications come unasked: no holding back.
                if kind == b"Z":
                    with self._lock:
                        asked = self._asked.pop(0)
                    if self._proxy.matches(asked, answer):
                        self._close()
                        self._proxy.lost.set()
                        return
                if kind in b"ZRNA":
                    self._client.sendall(answer)
                    answer = b""
        except OSError:
            self._close()

    def _close(self):
        for side in (self._client, self._server):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            side.close()


def read_message(side, typed=True):
    """(type, length and body) of one protocol message; the startup message has no type."""
    kind = read_exactly(side, 1) if typed else b""
    length = read_exactly(side, 4)
    return kind, length + read_exactly(side, struct.unpack("!I", length)[0] - 4)


def read_exactly(side, size):
    parts = []
    while size > 0:
        part = side.recv(size)
        if not part:
            raise OSError("the connection ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
