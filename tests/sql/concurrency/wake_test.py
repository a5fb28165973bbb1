"""The wake-up protocol of docs/internals/wake.md, played by real sessions: who is notified, and that nobody sleeps on."""
import os
import random
import select
import subprocess
import threading
import time

import psycopg2
import pytest

from conftest import Session, deploy, notifications, register

LOCK_CLASS = -1885826166
HEARD = [("pgflow_q_f", "")]


@pytest.fixture
def flow(sql):
    deploy(sql, "f", {"a": []})


def start(session):
    return session.one("select run_id from pgflow.start_flow('f', '{}')")


def sleeper(database, state="asleep"):
    session = database.session()
    session.run('listen "pgflow_q_f"')
    assert rest(session) == state
    return session


def rest(session, insist=True):
    return session.one("select pgflow.begin_idle('f', %s)", insist)


def locks(session):
    """Of the protocol, held by anybody: a list of modes."""
    return [mode for (mode,) in session.run(
        "select mode from pg_locks where locktype = 'advisory' and classid = %s::bigint & 4294967295"
        " and database = (select oid from pg_database where datname = current_database()) order by 1", LOCK_CLASS)]


def worker_of_f(sql, **info):
    return register(sql, "f", "fn", [("f", "a")], info=info)


def test_a_start_says_nothing_while_nobody_rests(database, sql, flow):
    listener = database.session()
    listener.run('listen "pgflow_q_f"')

    sql.run("begin")
    start(sql)
    assert locks(sql) == ["ShareLock"]
    sql.run("commit")

    assert notifications(listener) == []
    assert locks(sql) == []


def test_whoever_rests_is_notified_until_it_is_awake(database, sql, flow):
    host = sleeper(database)

    start(sql)
    start(sql)
    assert notifications(host) == 2 * HEARD

    host.run("select pgflow.end_idle()")
    start(sql)
    assert notifications(host) == []
    assert locks(sql) == []


def test_three_sleepers_are_notified_each_for_as_long_as_it_sleeps(database, sql, flow):
    hosts = [sleeper(database) for _ in range(3)]
    start(sql)
    assert [notifications(host) for host in hosts] == 3 * [HEARD]

    hosts[0].run("select pgflow.end_idle()")
    start(sql)
    assert [notifications(host) for host in hosts[1:]] == 2 * [HEARD]

    kill(sql, hosts[1])
    start(sql)
    assert notifications(hosts[2]) == HEARD
    kill(sql, hosts[2])
    notifications(hosts[0])
    start(sql)
    assert notifications(hosts[0]) == []


def kill(sql, session):
    """Ends the session as the end of its host does, and waits until its locks are gone."""
    pid = session.pid()
    session.connection.close()
    while sql.one("select exists (select from pg_stat_activity where pid = %s)", pid):
        sql.run("select pg_sleep(0.01)")


def test_asking_again_is_one_rest(database, sql, flow):
    host = sleeper(database)
    assert rest(host) == "asleep"
    assert rest(host, insist=False) == "asleep"

    host.run("select pgflow.end_idle()")

    assert locks(sql) == []
    host.run("select pgflow.end_idle()")
    assert rest(host) == "asleep"


def test_a_start_that_stays_open_is_watched_for(database, sql, flow):
    worker = worker_of_f(sql, idleLocks=True)
    slow = database.session()
    slow.run("begin")
    run = start(slow)

    busy = database.session()
    assert rest(busy, insist=False) == "awake"
    assert locks(sql) == ["ShareLock"], "a host that does not insist holds nothing"

    host = sleeper(database, "watched")
    assert host.claim(worker, "f") [0]["outcome"] == "empty"
    other = start(sql)
    assert notifications(host) == HEARD
    assert [row["run_id"] for row in host.claim(worker, "f")] == [other]
    assert rest(host) == "watched"

    slow.run("commit")
    assert notifications(host) == [], "it looked for sleepers before there was one"
    assert rest(host) == "asleep"
    assert [row["run_id"] for row in host.claim(worker, "f")] == [run]


def test_a_prepared_transaction_is_watched_for_until_it_is_committed(database, sql, flow):
    worker = worker_of_f(sql, idleLocks=True)
    sql.run("begin")
    run = start(sql)
    sql.run("prepare transaction 'start'")

    host = sleeper(database, "watched")
    sql.run("commit prepared 'start'")

    assert rest(host) == "asleep"
    assert [row["run_id"] for row in host.claim(worker, "f")] == [run]


def test_a_prepared_start_is_watched_for_after_a_crash_too(database, flow, sql):
    sql.run("begin")
    start(sql)
    sql.run("prepare transaction 'start'")
    for session in database.sessions:
        session.close()
    database.sessions.clear()
    subprocess.run(["pg-control", "crash", os.environ["PGF_CLUSTER"]], check=True)
    subprocess.run(["pg-control", "start", os.environ["PGF_CLUSTER"]], check=True)

    host = sleeper(database, "watched")
    host.run("rollback prepared 'start'")
    assert rest(host) == "asleep"


def test_a_start_that_must_notify_cannot_be_prepared(database, sql, flow):
    host = sleeper(database)
    sql.run("begin")
    start(sql)
    with pytest.raises(psycopg2.errors.FeatureNotSupported):
        sql.run("prepare transaction 'start'")
    assert notifications(host) == []


def test_a_rollback_to_a_savepoint_takes_lock_and_count_back(database, sql, flow):
    sql.run("begin")
    sql.run("savepoint before")
    start(sql)
    assert locks(sql) == ["ShareLock"]
    sql.run("rollback to before")
    assert locks(sql) == []
    assert sql.one("select coalesce(current_setting('pgflow.open_starts', true), '')") == ""

    host = sleeper(database)
    host.run("select pgflow.end_idle()")
    start(sql)
    assert rest(host) == "watched", "the second start holds the lock anew"
    sql.run("savepoint again")
    start(sql)
    sql.run("rollback to again")
    assert rest(host) == "watched", "the rollback of a later one leaves it"
    sql.run("commit")
    assert notifications(host) == [] and rest(host) == "asleep"


def test_a_notification_goes_back_with_its_savepoint(database, sql, flow):
    host = sleeper(database)
    sql.run("begin")
    sql.run("savepoint before")
    start(sql)
    sql.run("rollback to before")
    sql.run("commit")
    assert notifications(host) == []


def test_a_transaction_over_a_thousand_queues_takes_32_locks(database, sql):
    names = [f"many{i:04}" for i in range(1000)]
    host = database.session()
    for name in names:
        host.run(f'listen "pgflow_q_{name}"')

    sql.run("begin")
    for i in range(0, 1000, 10):
        sql.run("select pgflow._notify(%s)", names[i:i + 10])
    sql.run("select pgflow._notify(%s)", names)
    assert locks(sql) == 32 * ["ShareLock"]
    sql.run("commit")

    assert notifications(host) == [(f"pgflow_q_{name}", "") for name in names[32:]]
    sql.run("select pgflow._notify(%s)", names[32:64])
    assert notifications(host) == [], "the count ends with its transaction"


def test_a_start_over_many_queues_is_one_of_both_kinds(database, sql):
    steps = {f"s{i:02}": [] for i in range(40)}
    sql.run("select pgflow.ensure_deployment(%s)", psycopg2.extras.Json({
        "flowSlug": "wide", "alias": "wide", "queueMode": "routed",
        "steps": [{"slug": slug, "stepType": "single", "dependencies": []} for slug in steps],
        "routes": {slug: f"wide_{slug}" for slug in steps}}))
    host = database.session()
    for slug in steps:
        host.run(f'listen "pgflow_q_wide_{slug}"')
    host.run("select pgflow.begin_idle('wide_s01')")

    sql.run("select pgflow.start_flow('wide', '{}')")

    heard = [channel for channel, _ in notifications(host)]
    assert "pgflow_q_wide_s01" in heard and len(heard) == 1 + 40 - 32


def test_who_starts_in_the_session_that_rests_notifies_itself(database, sql, flow):
    host = sleeper(database)
    start(host)
    assert notifications(host) == HEARD

    host.run("select pgflow.end_idle()")
    start(host)
    assert notifications(host) == []


def test_hosts_that_take_no_locks_are_notified_while_they_live(database, sql, flow):
    """Hosts of 0.1 listen, and say nothing of resting in their registration."""
    old = database.session()
    old.run('listen "pgflow_q_f"')
    worker = worker_of_f(sql, version="0.1.0")
    start(sql)
    assert notifications(old) == HEARD

    sql.run("update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '2 minutes'")
    start(sql)
    assert notifications(old) == [], "it died"
    sql.run("select pgflow.heartbeat(%s)", worker)
    start(sql)
    assert notifications(old) == HEARD

    sql.run("select pgflow.mark_worker_stopped(%s)", worker)
    worker_of_f(sql, version="0.2.0", idleLocks=True)
    start(sql)
    assert notifications(old) == []


def test_a_cancel_leaves_no_lock_behind(database, sql, flow):
    """Wherever it hits: locks of a session would outlive the statement."""
    starter, seed = database.session(), random.Random(1)
    pid, cancelled, done = starter.pid(), 0, threading.Event()

    def cancel():
        other = database.session()
        while not done.is_set():
            other.run("select pg_cancel_backend(%s)", pid)
            time.sleep(seed.random() / 500)

    canceller = threading.Thread(target=cancel)
    canceller.start()
    while cancelled < 200:
        try:
            starter.run("select pgflow._must_notify('f') from generate_series(1, 1000)")
        except psycopg2.errors.QueryCanceled:
            cancelled += 1
    done.set()
    canceller.join()
    assert locks(sql) == []


class Host(threading.Thread):
    """Sleeps by the protocol and without a poll as a net: what is not notified to it stays where it is."""

    def __init__(self, database, worker, seed, stop):
        super().__init__(daemon=True)
        self.session, self.worker, self.stop = Session(database.name), worker, stop
        self.random, self.found, self.states = random.Random(seed), [], set()

    def run(self):
        self.session.run('listen "pgflow_q_f"')
        state = "awake"
        while not self.stop.is_set():
            if state != "asleep":
                state = self.session.one("select pgflow.begin_idle('f', %s)", self.random.random() < 0.7)
            self.states.add(state)
            while self.claim():
                pass
            if state == "asleep":
                self.sleep()
            if self.random.random() < 0.3:
                self.session.run("select pgflow.end_idle()")
                state = "awake"
        self.session.close()

    def claim(self):
        rows = [row for row in self.session.claim(self.worker, "f", 100) if row["outcome"] == "started"]
        self.found += [row["run_id"] for row in rows]
        return rows

    def sleep(self):
        while not self.session.connection.notifies and not self.stop.is_set():
            select.select([self.session.connection], [], [], 0.5)
            self.session.connection.poll()
        self.session.connection.notifies.clear()


class Client(threading.Thread):
    """Starts runs in all the ways that a transaction can end."""

    def __init__(self, database, seed, count):
        super().__init__(daemon=True)
        self.session, self.random, self.count, self.started = Session(database.name), random.Random(seed), count, []

    def run(self):
        for number in range(self.count):
            self.session.run("begin")
            kept = [self.one() for _ in range(self.random.randint(1, 2))]
            time.sleep(self.random.choice([0, 0, 0, 0.002, 0.05]))
            self.end([run for run in kept if run], number)
        self.session.close()

    def one(self):
        self.session.run("savepoint one")
        run = start(self.session)
        if self.random.random() < 0.2:
            self.session.run("rollback to one")
            return None
        return run

    def end(self, kept, number):
        way = self.random.random()
        if way < 0.1:
            self.session.run("rollback")
            return
        if way < 0.2:
            name = f"p{threading.get_ident()}_{number}"
            try:
                self.session.run(f"prepare transaction '{name}'")
            except psycopg2.errors.FeatureNotSupported:
                return  # it had to notify, and is rolled back
            self.session.run(f"commit prepared '{name}'")
        else:
            self.session.run("commit")
        self.started += kept


def test_nothing_stays_behind_whoever_sleeps_and_however_starts_end(database, sql, flow):
    worker, stop = worker_of_f(sql, idleLocks=True), threading.Event()
    hosts = [Host(database, worker, seed, stop) for seed in range(3)]
    clients = [Client(database, seed, 150) for seed in range(4)]
    for thread in hosts + clients:
        thread.start()
    for client in clients:
        client.join()
    started = [run for client in clients for run in client.started]

    deadline = time.monotonic() + 60
    while sum(len(host.found) for host in hosts) < len(started) and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    for host in hosts:
        host.join()
    assert sorted(run for host in hosts for run in host.found) == sorted(started)
    assert set.union(*(host.states for host in hosts)) == {"awake", "watched", "asleep"}
    assert len(started) > 300
