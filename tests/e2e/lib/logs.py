"""The log of a running program: read as it comes, awaited by event."""

import contextlib
import fcntl
import json
import threading
import time

from .paths import PATIENCE


class Log:
    """Lines of a pipe, gathered by a thread; tests wait for the line they need.

    A line that is a JSON object becomes a record; any other stays text. The log
    ends with the pipe, so that waiting for a line of a dead program fails at
    once and shows what it had said.
    """

    def __init__(self, pipe):
        self.text = []
        self.records = []
        self.ended = False
        self._pipe = pipe
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def make_room(self, size):
        """A wider pipe, so that a program which says much drops nothing while its reader is late.

        A user may have so much of them in all; with a narrow one lines are dropped, which the log says.
        """
        with contextlib.suppress(PermissionError, ValueError):  # or the program has ended
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, size)

    def _read(self):
        for raw in self._pipe:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            record = parse(line)
            with self._changed:
                self.text.append(line)
                if record is not None:
                    self.records.append(record)
                self._changed.notify_all()
        self._pipe.close()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def find(self, event, after=0, **fields):
        """The records of an event with these fields, from position `after` on."""
        return [
            record
            for record in self.records[after:]
            if record.get("event") == event and all(record.get(key) == value for key, value in fields.items())
        ]

    def position(self):
        """Where the log stands now, for the `after` of a later wait."""
        with self._changed:
            return len(self.records)

    def wait(self, event, count=1, after=0, patience=PATIENCE, **fields):
        """Wait for `count` records of an event and give the last of them."""
        found = self.wait_all(event, count, after, patience, **fields)
        return found[count - 1]

    def wait_all(self, event, count, after=0, patience=PATIENCE, **fields):
        until = time.monotonic() + patience
        with self._changed:
            while True:
                found = self.find(event, after, **fields)
                if len(found) >= count:
                    return found
                left = until - time.monotonic()
                if self.ended or left <= 0:
                    why = "the program ended" if self.ended else f"nothing for {patience:.0f} s"
                    raise AssertionError(
                        f"{why}, but only {len(found)} of {count} x {event} {fields} in its log:\n" + self.tail()
                    )
                self._changed.wait(left)

    def wait_text(self, part, patience=PATIENCE):
        """Wait for a line with this text in it, and give it."""
        until = time.monotonic() + patience
        with self._changed:
            while True:
                for line in self.text:
                    if part in line:
                        return line
                left = until - time.monotonic()
                assert not self.ended and left > 0, f"no {part!r} in its output:\n" + self.tail()
                self._changed.wait(left)

    def join(self):
        """Wait for the end of the pipe: everything was read then."""
        self._reader.join(PATIENCE)

    def tail(self, lines=60):
        return "\n".join(self.text[-lines:])


def parse(line):
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None
