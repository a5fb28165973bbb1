"""The calls of a run's life and of the housekeeping, each with what it costs: {name: (buffers, rows read, units)}.

Hot calls are counted by task, the others by call.
"""
import json

import world

BATCH = 48
START = "select * from pgflow.start_flows(%s, array_fill(%s::jsonb, array[%s]))"
CLAIM = "select * from pgflow.read_and_claim_tasks(%s, %s, 5, %s)"


class Tour:
    def __init__(self, target, session):
        self.world, self.session, self.costs, self.workers = target, session, {}, {}

    def note(self, name, cost, units):
        self.costs[name] = (cost[0], cost[1], units)

    def worker(self, flow):
        if flow not in self.workers:
            self.workers[flow] = self.world.register(flow, self.session)
        return self.workers[flow]

    def start(self, flow, name=None):
        """A batch of runs, whose messages are the next that a claim reads."""
        source = json.dumps(world.INPUTS.get(flow, {}))
        self.note(name or f"start_flows {flow}", self.session.cost(START, flow, source, BATCH), BATCH)
        return [row[0] for row in self.world.owner.run(
            "select r.run_id::text from pgflow.runs r where r.flow_slug = %s order by r.started_at desc, r.run_id desc limit %s",
            flow, BATCH)]

    def front(self, flow, runs):
        """Their messages are the next to be read, where many others wait. They become as old as the oldest, and no
        older, for a claim may remember that nothing is."""
        if not self.world.is_busy:
            return
        self.world.owner.run(
            f"update pgmq.q_{flow} m set vt = (select min(vt) from pgmq.q_{flow}) from pgflow.step_tasks t"
            " where t.run_id = any (%s::uuid[]) and t.status = 'queued' and m.msg_id = t.message_id", runs)

    def claim(self, flow, runs, name, quantity=3 * BATCH):
        self.front(flow, runs)
        waiting = self.world.owner.one(
            "select count(*) from pgflow.step_tasks where run_id = any (%s::uuid[]) and status = 'queued'", runs)
        # One of those that were there is as old.
        quantity = min(quantity, waiting + self.world.is_busy)
        cost = self.session.cost(CLAIM, flow, quantity, self.worker(flow))
        assert cost[2] >= min(quantity, waiting), (name, cost, quantity)
        self.note(f"claim {name}", cost, cost[2])

    def finish(self, flow, result, name, output="1"):
        cost, tasks = world.finish(self.session, self.worker(flow), result, cost=True, output=output)
        self.note(f"finish {name}", cost, tasks)

    def hot(self):
        for flow in world.FLOWS:
            self.session.run("select pgflow.warm_up(%s)", flow)
        self.starts()
        for flow, levels in (("chain", 3), ("diamond", 3), ("maps", 3), ("conditions", 1)):
            runs = self.start(flow)
            for level in range(levels):
                self.claim(flow, runs, f"{flow} {level}")
                self.finish(flow, "completed", f"{flow} {level}", output="[1, 2, 3]" if flow == "maps" else "1")
        for flow, result in (("skips", "permanent"), ("fails", "permanent")):
            runs = self.start(flow)
            self.claim(flow, runs, f"{flow} {result}", quantity=BATCH)
            self.finish(flow, result, f"{flow} {result}")
        self.retries()
        self.releases()
        self.old_calls()
        self.single_runs()

    def starts(self):
        for flow in ("chain", "maps"):
            source = json.dumps(world.INPUTS.get(flow, {}))
            self.note(f"start_flow {flow}", self.session.cost("select * from pgflow.start_flow(%s, %s)", flow, source), 1)

    def retries(self):
        runs = self.start("chain")
        self.claim("chain", runs, "before retry")
        self.finish("chain", "failed", "retry")
        self.claim("chain", runs, "of retry")
        self.finish("chain", "completed", "after retry")

    def releases(self):
        worker = self.worker("diamond")
        runs = self.start("diamond")
        self.claim("diamond", runs, "before release")
        held = self.world.owner.run(
            "select array_agg(t.run_id::text), array_agg(t.step_slug), array_agg(t.task_index), array_agg(t.claim_no)"
            " from pgflow.step_tasks t where t.status = 'started' and t.last_worker_id = %s", worker)[0]
        half = len(held[0]) // 2
        self.note("heartbeat", self.session.cost("select pgflow.heartbeat(%s, %s::uuid[])", worker, held[0]), half * 2)
        first = [column[:half] for column in held]
        self.note("release_tasks", self.session.cost(
            "select * from pgflow.release_tasks(%s, %s::uuid[], %s, %s, %s, array_fill(true, array[%s]))",
            worker, *first, half), half)
        self.note("release_tasks_except", self.session.cost(
            "select pgflow.release_tasks_except(%s, '{}', '{}', '{}', '{}')", worker), half)

    def old_calls(self):
        worker = self.worker("chain")
        runs = self.start("chain")
        self.front("chain", runs)
        ids = [row[0] for row in self.world.owner.run(
            "select msg_id from pgmq.q_chain order by vt limit %s", BATCH)]
        pairs = "array(select row(s.flow_slug, s.step_slug)::pgflow.task_pair from pgflow.steps s where s.flow_slug = 'chain')"
        self.note("claim_tasks", self.session.cost(
            f"select * from pgflow.claim_tasks('chain', %s, %s, {pairs})", ids[:16], worker), 16)
        self.note("start_tasks", self.session.cost("select * from pgflow.start_tasks('chain', %s, %s)", ids[16:], worker), BATCH - 16)
        keys = self.world.owner.run(
            "select t.run_id from pgflow.step_tasks t where t.queue_name = 'chain' and t.message_id = any (%s)", ids[16:18])
        self.note("complete_task", self.session.cost("select pgflow.complete_task(%s, 'a', 0, '1')", keys[0][0]), 1)
        self.note("fail_task", self.session.cost("select pgflow.fail_task(%s, 'a', 0, 'no', true)", keys[1][0]), 1)
        self.finish("chain", "completed", "of claim_tasks")

    def single_runs(self):
        run = self.start("maps")[0]
        self.note("cancel_run", self.session.cost("select pgflow.cancel_run(%s)", run), 1)
        self.note("get_run_with_states", self.session.cost("select pgflow.get_run_with_states(%s)", run), 1)
        self.note("read nothing", self.session.cost(CLAIM, "spare", 10, self.worker("spare")), 1)

    # -- housekeeping, by call

    def calm(self, name, statement, *values, units=1):
        self.note(name, self.session.cost(statement, *values), units)

    def housekeeping(self):
        owner = self.world.owner
        worker = self.worker("spare")
        for _ in range(2):
            self.session.run("select pgflow.maintain()")
        # Whoever comes first to index entries that died looks at each row once, and notes it for all others.
        self.session.run("select pgflow.queue_coverage('spare'), pgflow.drain_status('spare')")
        self.calm("maintain, nothing to do", "select pgflow.maintain()")
        owner.run("select pgflow.start_flows('spare', array_fill('{}'::jsonb, array[40]))")
        owner.run(CLAIM, "spare", 20, worker)
        self.calm("maintain, 20 in hand", "select pgflow.maintain()")
        owner.run("update pgflow.step_tasks set recover_at = clock_timestamp() where last_worker_id = %s", worker)
        self.calm("maintain, 20 stalled", "select pgflow.maintain()", units=20)
        owner.run("delete from pgmq.q_spare where msg_id in (select msg_id from pgmq.q_spare order by msg_id limit 20)")
        self.calm("maintain, 20 messages lost", "select pgflow.maintain()", units=20)
        for name, call in (("queue_coverage", "queue_coverage('spare')"), ("missing_coverage", "missing_coverage('spare', '{}')"),
                           ("queue_stats", "queue_stats('spare')"), ("drain_status", "drain_status('spare')"),
                           ("draining_runs", "draining_runs('{spare}')"), ("host_status", "host_status('spare', '{spare}')")):
            self.calm(name, f"select * from pgflow.{call}")
        owner.run(CLAIM, "spare", 100, worker)
        world.finish(owner, worker, "completed")
        world.finish(owner, worker, "completed")
        owner.run("update pgflow.runs set started_at = started_at - interval '10 years', completed_at = completed_at - interval '10 years'"
                  " where flow_slug = 'spare'")
        self.calm("prune 30", "select pgflow.prune_data_older_than('5 years', 30)", units=30)
        self.calm("prune the rest", "select pgflow.prune_data_older_than('5 years')", units=10)
        self.calm("prune nothing", "select pgflow.prune_data_older_than('5 years')")
        self.calm("drain_status, drained", "select * from pgflow.drain_status('spare')")
        self.calm("deletion_blockers", "select pgflow.deletion_blockers('spare')")
        self.calm("register_worker", "select pgflow.register_worker(gen_random_uuid(), 'spare', 'spare fn', array[row('spare', 'a')::pgflow.task_pair])")
        self.calm("deprecate_workers", "select pgflow.deprecate_workers('{spare fn}')")
        owner.run("select pgflow.create_flow('brief'), pgflow.add_step('brief', 'a')")
        self.calm("retire_flow", "select pgflow.retire_flow('brief')")
        owner.run("select pgflow.create_flow('doomed'), pgflow.add_step('doomed', 'a')")
        owner.run("select count(*) from pgflow.start_flows('doomed', array_fill('{}'::jsonb, array[20]))")
        self.calm("delete_flow_and_data", "select pgflow.delete_flow_and_data('doomed')")
