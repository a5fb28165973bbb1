"""The SQL blocks of docs/operations/rollout.md, taken out of the page and run as they stand.

A block is fenced as sql below a comment that names its file in sql/rollout. They are
run by psql, one block a session, as the guide tells an operator to.
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs" / "operations" / "rollout.md"
BLOCK = re.compile(r"^<!-- (sql/rollout/(\w+)\.sql) -->\n```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Refused(Exception):
    """The database said no; the text is what psql shows, with detail and hint."""


def blocks():
    """[(name, file, statement)] in the order of the page."""
    return [(name, SOURCE / file, sql) for file, name, sql in BLOCK.findall(PAGE.read_text())]


class Guide:
    """Runs blocks on one database as one role; names given once stay set."""

    def __init__(self, database, role):
        self._statements = {name: sql for name, _, sql in blocks()}
        self._command = ["psql", "-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1", "-d", database, "-U", role]
        self._names = {}

    def set(self, **names):
        for name, value in names.items():
            self._names[name] = value if isinstance(value, str) else json.dumps(value)

    def run(self, block, **names):
        """The rows of a block as dicts of texts; Refused when the database refuses."""
        self.set(**names)
        return self.sql(self._statements[block])

    def sql(self, text):
        variables = [part for name, value in self._names.items() for part in ("-v", f"{name}={value}")]
        done = subprocess.run(
            self._command + variables, input=text, text=True, capture_output=True, timeout=60, check=False,
            env={**os.environ, "PGCLIENTENCODING": "UTF8"},
        )
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def waits(self, block, **names):
        """Why a block that waits is refused now; None: it is not."""
        try:
            self.run(block, **names)
        except Refused as refused:
            return str(refused)
        return None

    def load(self, manifest):
        """Load a manifest, and speak of its deployment from now on."""
        self.set(deployment=manifest["deployment"])
        return self.run("load", manifest=manifest)

    def now(self):
        """The step that the rollout is at, and what it waits for; None: all done."""
        for row in self.run("status"):
            if row["state"] not in ("done", "later"):
                return row["name"], row["waits_for"]
        return None

    def note(self, step):
        """What the status notes at a step."""
        return next(row["notes"] for row in self.run("status") if row["name"] == step)


def entry(function, action, enabled, modules=(), start_mode="process", **serves):
    """One entry of a manifest; serves is queue=NAME or flow=SLUG."""
    return {
        "functionName": function, "serves": serves, "action": action, "enabled": enabled, "startMode": start_mode,
        **({"modules": list(modules)} if modules else {}),
    }
