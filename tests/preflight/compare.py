"""pgflowctl preflight beside what it stands for.

Each world is a database with old modules and work in flight. For each of them a number of new module sets are judged
from the snapshot, and by the SQL of a host's --check in a transaction that is rolled back: the verdicts, the missing
pairs and the flows that do not compile must be the same. What each queue needs is compared with the function of schema
version 1. With --hosts, real modules are built, pgflowctl judges them online and from a file, pgflow-host --check says
the same, and where it is safe real hosts serve the queue until nothing is left.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import psycopg2

from generated import World
from lib.compiled import build
from lib.database import Database, make_template
from lib.paths import BUILD, SOURCE
from lib.programs import Hosts, run_ctl

SETS_OF_A_WORLD = 40
COMPILE_PROBLEMS = {"difference", "name_taken", "bad_queue"}


class Judge:
    def __init__(self):
        self.process = subprocess.Popen([BUILD / "bin" / "preflight_judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, snapshot, modules, queue):
        documents = ", ".join(flow.document() for flow in modules)
        self.process.stdin.write(f'{{"snapshot": {snapshot}, "modules": [{documents}], "queue": "{queue}"}}\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


def make_version_1_needs(cursor):
    text = (SOURCE / "sql" / "migrations" / "0001_core.sql").read_text()
    body = re.search(r"create function pgflow\._coverage_needs\(.*?^\$\$;", text, re.S | re.M).group(0)
    cursor.execute("create schema before; " + body.replace("pgflow._coverage_needs", "before._coverage_needs", 1))


def differing_needs(world):
    return world.rows("""
        with now as (select q.queue_name, n.* from pgflow.queues q, pgflow._coverage_needs(q.queue_name) n),
             before as (select q.queue_name, n.* from pgflow.queues q, before._coverage_needs(q.queue_name) n)
        (table now except table before) union all (table before except table now)""")


def disagreement(verdict, refused, missing):
    """None, or what the two say that is not the same."""
    if verdict["verdict"] == "cannot_tell":
        return None if refused or "cannot tell: the database would compile" in verdict["text"] else verdict["text"]
    compiles = {p["flow"] for p in verdict["problems"] if p["kind"] in COMPILE_PROBLEMS}
    found = {(p["flow"], p["step"]) for p in verdict["problems"] if p["kind"] == "missing_pair"}
    if (verdict["verdict"] == "safe") != (refused is None and not missing):
        return "verdict"
    if refused is not None:
        return None if refused in compiles else "the flow that is refused"
    if compiles:
        return "a flow that compiles is refused"
    return None if found == missing else f"missing pairs {found ^ missing}"


def in_sql(rng, pairs, counts):
    judge = Judge()
    while counts["pairs"] < pairs:
        seed = rng.randrange(1 << 30)
        database = Database()
        connection = psycopg2.connect(database.url)
        connection.autocommit = True
        world = World(random.Random(seed), connection)
        make_version_1_needs(world.cursor)
        assert not differing_needs(world), f"world {seed}: the needs are not those of version 1: {differing_needs(world)}"
        snapshot = world.one("select pgflow.needs_snapshot()::text")
        for number in range(SETS_OF_A_WORLD):
            modules, queue = world.new_set()
            if not modules or counts["pairs"] == pairs:
                continue
            refused, missing = world.check(modules, queue)
            verdict = judge(snapshot, modules, queue)
            problem = disagreement(verdict, refused, missing)
            assert problem is None, f"world {seed}, set {number}: {problem}; --check: {refused} {missing}; preflight: {verdict}"
            counts["pairs"] += 1
            counts[verdict["verdict"] if verdict["verdict"] != "not_safe" else "refused" if refused else "uncovered"] += 1
        connection.close()
        database.close()
    judge.end()


def verdicts(database, files, queue, folder):
    """Online and from a snapshot; the words."""
    taken = run_ctl("snapshot", "--database", database.url)
    assert taken.returncode == 0, taken
    (folder / "needs.json").write_text(taken.stdout)
    words = []
    for against in (database.url, folder / "needs.json"):
        said = run_ctl("preflight", *files, "--queue", queue, "--against", against, "--json")
        words.append((said.returncode, json.loads(said.stdout)["problems"] if said.stdout else said.stderr))
    return words


def serve(world, database, folder, files, queue, modules):
    """Hosts with the new set on the queue, and with everything on the others, until all runs have ended."""
    hosts = Hosts(database, folder)
    try:
        hosts.start(queue=queue, plugins=files.values())
        everything = {flow.slug: flow for flow in [*world.olds, *modules]}
        for other in sorted(set().union(*(flow.queues() for flow in everything.values())) - {queue}):
            hosts.start(queue=other, plugins=[
                files.get(flow.slug) or build(folder, flow.source(), name=f"{flow.slug}.so")
                for flow in everything.values() if other in flow.queues()])
        database.until("select not exists (select from pgflow.runs where status = 'started')")
        assert database.value("select count(*) from pgflow.worker_functions where paused_at is not null") == 0, "a host met the guard"
    finally:
        hosts.end()


def with_hosts(rng, pairs, counts):
    while counts["hosts"] < pairs:
        seed = rng.randrange(1 << 30)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            folder.chmod(0o755)
            database = Database()
            connection = psycopg2.connect(database.url)
            connection.autocommit = True
            world = World(random.Random(seed), connection, tidy=True)
            modules, queue = world.new_set()
            if modules:
                try_hosts(world, database, folder, modules, queue, counts, seed)
            connection.close()
            database.close()


def try_hosts(world, database, folder, modules, queue, counts, seed):
    files = {flow.slug: build(folder, flow.source(), name=f"{flow.slug}.so") for flow in modules}
    online, offline = verdicts(database, files.values(), queue, folder)
    assert online == offline, f"world {seed}: online {online}, from the snapshot {offline}"
    hosts = Hosts(database, folder)
    try:
        said = hosts.start("--check", queue=queue, plugins=files.values(), wait=False)
        status = said.wait()
        assert (status == 0) == (online[0] == 0), f"world {seed}: --check {status}: {said.said()}, preflight {online}"
    finally:
        hosts.end()
    if status == 0:
        serve(world, database, folder, files, queue, modules)
        counts["hosts_drained"] += 1
    counts["hosts"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    arguments = parser.parse_args()
    counts = collections.Counter()
    rng, begun = random.Random(arguments.seed), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"stopped, so far without a disagreement: {dict(counts)}"))
    make_template()
    in_sql(rng, arguments.pairs, counts)
    with_hosts(rng, arguments.hosts, counts)
    print(f"seed {arguments.seed}: no disagreement in {time.monotonic() - begun:.0f} s; {dict(counts)}")


if __name__ == "__main__":
    sys.exit(main())
