"""A database with a given number of runs, in a given state of the planner's knowledge, and what a call costs in it.

The runs are copies of a few that the functions made: copying takes seconds where starting takes minutes.
"""
import json
import pathlib
import sys

import psycopg2

SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import cluster  # noqa: E402

# Steps as {slug: (dependencies, options of add_step)}; a slug that begins with map is a map step.
FLOWS = {
    "chain": {"a": ([], {}), "b": (["a"], {}), "c": (["b"], {})},
    "diamond": {"a": ([], {}), "b": (["a"], {}), "c": (["a"], {}), "d": (["b", "c"], {})},
    "maps": {"map_a": ([], {}), "map_b": (["map_a"], {}), "z": (["map_b"], {})},
    "skips": {"a": ([], {"when_exhausted": "skip-cascade"}), "b": (["a"], {}), "c": (["b"], {})},
    "conditions": {"a": ([], {}), "b": (["a"], {"required_input_pattern": '{"a": {"go": 1}}'}), "c": (["b"], {})},
    "fails": {"a": ([], {}), "b": ([], {}), "c": (["a", "b"], {})},
}
# Not among the copied ones: what housekeeping counts on.
SPARE = {"spare": {"a": ([], {})}}
INPUTS = {"maps": [1, 2, 3]}
TABLES = ("runs", "step_states", "step_tasks")
COLUMNS = """
select a.attname from pg_attribute a
where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum
"""
# Ids that ascend with their number, as those of real runs do with time.
IDS = """
insert into clone
select n, (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
           || '7' || lpad(to_hex(n), 7, '0') || substr(md5(n || %s), 1, 12))::uuid as run_id
from generate_series(1, %s) n
"""
ROWS_READ = """
select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
from pg_stat_xact_user_tables where schemaname in ('pgflow', 'pgmq')
"""


class Session:
    """One connection, as a host has it; every call is a transaction of its own."""

    def __init__(self, database):
        self.connection = psycopg2.connect(dbname=database)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.cursor.execute("set client_min_messages = error; set jit = off")

    def run(self, statement, *values):
        self.cursor.execute(statement, values or None)
        return self.cursor.fetchall() if self.cursor.description else []

    def one(self, statement, *values):
        return self.run(statement, *values)[0][0]

    def cost(self, statement, *values):
        """Buffers that the statement touched (heap, index and toast, in the cache or not; what its functions and
        triggers touch is in it) and rows that it read; rows it gave."""
        with Transaction(self):
            before = self.one(ROWS_READ)
            plan = self.one(f"explain (analyze, buffers, timing off, format json) {statement}", *values)[0]["Plan"]
            rows = self.one(ROWS_READ) - before
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], rows, plan["Actual Rows"]


class Transaction:
    def __init__(self, session):
        self.session = session

    def __enter__(self):
        self.session.run("begin")

    def __exit__(self, kind, *_):
        self.session.run("commit" if kind is None else "rollback")


class World:
    def __init__(self, template):
        self.name = cluster.create(template)
        self.sessions, self.is_busy = [], False
        self.owner = self.session()

    def session(self):
        self.sessions.append(Session(self.name))
        return self.sessions[-1]

    def close(self):
        for session in self.sessions:
            session.connection.close()
        self.sessions = []
        cluster.drop(self.name)

    def deploy(self):
        # Here and not for each copy: what others are told of tables made and dropped would overflow, and a session that
        # missed some of it throws all of its plans away.
        self.owner.run("create temp table clone (n int, run_id uuid);"
                       " create temp table source_task (step_slug text, task_index int, message_id bigint, place int)")
        for flow, steps in {**FLOWS, **SPARE}.items():
            self.owner.run("select pgflow.create_flow(%s, 3, 0, 60)", flow)
            for step, (after, options) in steps.items():
                names = "".join(f", {name} => %s" for name in options)
                self.owner.run(
                    f"select pgflow.add_step(%s, %s, %s::text[], step_type => %s{names})",
                    flow, step, after, "map" if step.startswith("map") else "single", *options.values())

    def register(self, flow, session=None):
        worker = self.owner.one("select gen_random_uuid()")
        (session or self.owner).run(
            "select pgflow.register_worker(%s, %s, %s, array(select row(s.flow_slug, s.step_slug)::pgflow.task_pair"
            " from pgflow.steps s where s.queue_name = %s))", worker, flow, f"{flow}_{worker[:8]}", flow)
        return worker

    def listen(self):
        """Sessions at rest read what they are told of tables, before it is too much."""
        for session in self.sessions:
            session.run("select 1")

    # -- many runs

    def fill(self, runs):
        """Half of them open, with a task that waits, half of them completed; spread over the flows."""
        self.is_busy = True
        share = max(runs // (2 * len(FLOWS)), 1)
        for flow in FLOWS:
            done = self.owner.one("select r.run_id from pgflow.start_flow(%s, %s) r", flow, json.dumps(INPUTS.get(flow, {})))
            self.work_off(flow)
            self.clone(flow, done, "a", share)
            still_open = self.owner.one("select r.run_id from pgflow.start_flow(%s, %s) r", flow, json.dumps(INPUTS.get(flow, {})))
            self.clone(flow, still_open, "q", share)
            self.listen()

    def work_off(self, flow):
        worker = self.register(flow)
        while True:
            self.owner.run("select * from pgflow.read_and_claim_tasks(%s, 1000, 5, %s)", flow, worker)
            if not finish(self.owner, worker, "completed"):
                return

    def clone(self, flow, source, kind, count):
        owner = self.owner
        tasks = owner.one("select count(*) from pgflow.step_tasks where run_id = %s", source)
        last = owner.one("select pg_sequence_last_value(pg_get_serial_sequence(%s, 'msg_id')::regclass)", f"pgmq.q_{flow}")
        with Transaction(owner):
            # The rows are consistent as they are; checking a key for each would take most of the time.
            owner.run("set local session_replication_role = replica")
            owner.run("delete from clone; delete from source_task")
            owner.run(IDS, flow + kind, count)
            owner.run(
                "insert into source_task select step_slug, task_index, message_id,"
                " row_number() over (order by message_id) from pgflow.step_tasks where run_id = %s", source)
            message_id = f"{last} + (c.n - 1) * {tasks} + m.place"
            for table in TABLES:
                changed, match = {"run_id": "c.run_id"}, ""
                if table == "runs" and kind == "q":
                    changed["started_at"] = "t.started_at - interval '20 years'"
                if table == "step_tasks":
                    changed["message_id"] = message_id
                    match = "join source_task m using (step_slug, task_index)"
                self.copy(f"pgflow.{table}", changed, f"{match} where t.run_id = '{source}'")
            self.copy(f"pgmq.{kind}_{flow}", {
                "msg_id": message_id, "vt": "t.vt + c.n * interval '1 microsecond'", "message": "jsonb_set(t.message, '{run_id}', to_jsonb(c.run_id::text))"},
                "join source_task m on m.message_id = t.msg_id")
            owner.run("select setval(pg_get_serial_sequence(%s, 'msg_id'), %s)", f"pgmq.q_{flow}", last + count * tasks)

    def copy(self, table, changed, rest):
        names = [row[0] for row in self.owner.run(COLUMNS, table)]
        values = ", ".join(changed.get(name, f't."{name}"') for name in names)
        self.owner.run(f"insert into {table} ({', '.join(names)}) overriding system value"
                       f" select {values} from clone c cross join {table} t {rest} order by c.n")

    def end_all(self):
        """Every open run ends as hosts would end it: a claim of each task, a result, an archived message. In few
        statements, but with the row versions and the index entries that the calls leave, and the times of an hour ago."""
        owner, self.is_busy = self.owner, False
        self.listen()
        with Transaction(owner):
            owner.run("set local session_replication_role = replica")
            for flow in FLOWS:
                owner.run(f"update pgmq.q_{flow} set vt = clock_timestamp() - interval '59 min', read_ct = 1")
            owner.run("update pgflow.step_tasks set status = 'started', started_at = clock_timestamp(), attempts_count = 1,"
                      " claim_no = 1, claimed_exact = true, recover_at = clock_timestamp() - interval '58 min',"
                      " last_worker_id = gen_random_uuid() where status = 'queued'")
        with Transaction(owner):
            owner.run("set local session_replication_role = replica")
            owner.run("update pgflow.step_tasks set status = 'completed', output = '1', recover_at = null,"
                      " completed_at = clock_timestamp() where status = 'started'")
            owner.run("update pgflow.step_states set status = 'completed', remaining_tasks = 0, remaining_deps = 0,"
                      " initial_tasks = coalesce(initial_tasks, 0), started_at = coalesce(started_at, clock_timestamp()),"
                      " completed_at = clock_timestamp(), output = '1' where status in ('created', 'started')")
            owner.run("update pgflow.runs set status = 'completed', remaining_steps = 0, output = '{}',"
                      " completed_at = clock_timestamp() where status = 'started'")
            for flow in FLOWS:
                columns = "msg_id, read_ct, enqueued_at, vt, message, headers"
                owner.run(f"with gone as (delete from pgmq.q_{flow} returning {columns})"
                          f" insert into pgmq.a_{flow} ({columns}) select {columns} from gone")


def finish(session, worker, result, cost=False, output="1"):
    """Reports everything that a worker holds; gives the cost or the number of tasks."""
    held = session.run(
        "select array_agg(t.run_id::text order by t.run_id), array_agg(t.step_slug order by t.run_id),"
        " array_agg(t.task_index order by t.run_id), array_agg(t.claim_no order by t.run_id)"
        " from pgflow.step_tasks t where t.status = 'started' and t.last_worker_id = %s", worker)[0]
    count = len(held[0] or [])
    if count == 0:
        return 0
    call = ("select * from pgflow.finish_tasks(%s, %s::uuid[], %s, %s, %s, array_fill(%s::text, array[%s]),"
            " array_fill(%s::text, array[%s]), array_fill(%s::text, array[%s]), array_fill(0, array[%s]))")
    values = (worker, *held, result, count, output if result == "completed" else None, count,
              None if result == "completed" else "no", count, count)
    if cost:
        return session.cost(call, *values), count
    session.run(call, *values)
    return count
