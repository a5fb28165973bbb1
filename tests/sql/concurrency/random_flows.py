"""Random flows, hosts that work them off with random results, and what must have come of each run.

The model looks at the end of a run only, and judges each step by the ends of its dependencies: it shares no code and
no order of events with the engine.
"""
import json
import random
import uuid

ENDINGS = ["fail", "skip", "skip", "skip-cascade"]


def random_value(rng, depth=0):
    kind = rng.randrange(8)
    if kind < 5 or depth == 2:
        return rng.choice([None, True, 1, 2, 1.0, "a", ""])
    if kind < 7:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice("xyz"): random_value(rng, depth + 1) for _ in range(rng.randrange(3))}


def random_array(rng):
    return [random_value(rng, 1) for _ in range(rng.randrange(4))]


def random_step(rng, number, earlier):
    kind = rng.choice(["single", "single", "map"])
    dependencies = rng.sample(earlier, min(len(earlier), rng.randrange(2 if kind == "map" else 4)))
    step = {"slug": f"s{number}", "stepType": kind, "dependencies": dependencies, "whenUnmet": rng.choice(ENDINGS),
            "whenExhausted": rng.choice(ENDINGS), "options": {"maxAttempts": rng.randrange(4), "baseDelay": 0}}
    for name in ("requiredInputPattern", "forbiddenInputPattern"):
        if rng.random() < 0.25:
            keys = [rng.choice((dependencies or ["x", "y"]) + ["nowhere"]) for _ in range(rng.randrange(3))]
            step[name] = {"defined": True, "value": {key: random_value(rng, 1) for key in keys}}
    return step


class Flow:
    """A random deployment: up to eight steps, any queue mode."""

    def __init__(self, rng, slug):
        self.slug, self.steps = slug, {}
        for number in range(rng.randint(1, 8)):
            step = random_step(rng, number, list(self.steps))
            self.steps[step["slug"]] = step
        mode = rng.choice(["flow", "step", "routed"])
        self.deployment = json.dumps({
            "flowSlug": slug, "steps": list(self.steps.values()), "queueMode": mode,
            "routes": {s: rng.choice(["common_a", "common_b"]) for s in self.steps} if mode == "routed" else None})
        self.mapped = {d for s in self.steps.values() if s["stepType"] == "map" for d in s["dependencies"]}
        self.depended_on = {d for s in self.steps.values() for d in s["dependencies"]}

    def random_input(self, rng):
        maps_it = any(s["stepType"] == "map" and not s["dependencies"] for s in self.steps.values())
        return random_array(rng) if maps_it else random_value(rng)


class Host:
    """A worker on every queue. Results are mostly good, and now and then wrong, repeated, or given back."""

    def __init__(self, session, rng, flows):
        self.session, self.rng, self.flows, self.workers = session, rng, flows, {}
        for queue, in session.run("select queue_name from pgflow.queues order by 1"):
            self.workers[queue] = str(uuid.uuid4())
            assert session.one(
                "select pgflow.register_worker(%s, %s, %s, array(select row(s.flow_slug, s.step_slug)::pgflow.task_pair"
                " from pgflow.steps s))", self.workers[queue], queue, "fn_" + queue) == "registered"

    def start(self):
        flow = self.rng.choice(list(self.flows.values()))
        self.session.run("select pgflow.start_flow(%s, %s)", flow.slug, json.dumps(flow.random_input(self.rng)))

    def work(self):
        """One claim a queue. Returns the number of tasks that it started."""
        started = 0
        for queue, worker in self.workers.items():
            claims = [c for c in self.session.claim(worker, queue, self.rng.randint(1, 30)) if c["outcome"] == "started"]
            started += len(claims)
            if claims and self.rng.random() < 0.1:
                self.session.run(
                    "select pgflow.release_tasks_except(%s, '{}', '{}', '{}', '{}')", worker)
            elif claims:
                self.report(worker, claims + self.rng.sample(claims, len(claims) // 5))
        return started

    def report(self, worker, claims):
        results = self.rng.choices(["completed", "failed", "permanent"], [8, 3, 1], k=len(claims))
        outputs = [self.output(claim) if result == "completed" else None for claim, result in zip(claims, results)]
        outcomes = self.session.finish(worker, claims, results, outputs)
        assert len(outcomes) == len(claims)

    def output(self, claim):
        if self.rng.random() < 0.02:
            return "{no json"
        is_mapped = claim["step_slug"] in self.flows[claim["flow_slug"]].mapped
        return json.dumps(random_array(self.rng) if is_mapped and self.rng.random() < 0.95 else random_value(self.rng))


class Run:
    """The end of one run, and what is wrong with it."""

    def __init__(self, sql, flow, row):
        self.sql, self.flow = sql, flow
        self.run_id, self.status, self.input, self.output = row
        self.states = {row[0]: row for row in sql.run(
            "select step_slug, status, skip_reason, output from pgflow.step_states where run_id = %s", self.run_id)}
        self.tasks = {slug: [] for slug in flow.steps}
        for slug, status, element, output in sql.run(
                "select step_slug, status, input, output from pgflow.step_tasks where run_id = %s"
                " order by step_slug, task_index", self.run_id):
            self.tasks[slug].append((status, element, output))
        self.fallen = set()
        self.is_resumed = sql.one(
            "select exists (select from pgflow.run_restarts where run_id = %s and resumed)", self.run_id)

    def was_taken_over(self, slug):
        """A resume brings a step that had ended before without its tasks."""
        return self.is_resumed and self.states[slug][1] in ("completed", "skipped") and not self.tasks[slug]

    def problems(self):
        for slug, step in self.flow.steps.items():
            problem = self.problem_of_step(slug, step)
            if problem:
                yield f"{self.flow.slug} {self.run_id} ({self.status}) {slug}: {problem}"
        if self.status == "completed":
            leaves = {slug: state[3] for slug, state in self.states.items()
                      if slug not in self.flow.depended_on and state[1] == "completed"}
            if self.output != leaves:
                yield f"{self.run_id}: output {self.output}, its leaves gave {leaves}"
            if any(state[1] not in ("completed", "skipped") for state in self.states.values()):
                yield f"{self.run_id}: completed with a step that is not done"
        if self.status == "failed" and not any(state[1] == "failed" for state in self.states.values()):
            yield f"{self.run_id}: failed without a failed step"

    def problem_of_step(self, slug, step):
        _, status, reason, _ = self.states[slug]
        ends = [self.states[d][1] for d in step["dependencies"]]
        falls = any(d in self.fallen for d in step["dependencies"])
        if falls or (reason, step["whenUnmet"]) == ("condition_unmet", "skip-cascade") \
                or (reason, step["whenExhausted"]) == ("handler_failed", "skip-cascade"):
            self.fallen.add(slug)

        if status == "created":
            return None if self.status in ("failed", "cancelled") else "was never begun"
        if falls != (reason == "dependency_skipped"):
            return f"{status} ({reason}) below a cascade" if falls else "fell without a cascade"
        if falls:
            return "has tasks" if self.tasks[slug] else None
        if any(end not in ("completed", "skipped") for end in ends):
            return "ran before its dependencies"
        if not self.meets_conditions(slug, step):
            wanted = ("failed", None) if step["whenUnmet"] == "fail" else ("skipped", "condition_unmet")
            return None if (status, reason) == wanted and not self.tasks[slug] else f"{status} with an unmet condition"
        if reason == "condition_unmet" or (reason == "handler_failed" and step["whenExhausted"] == "fail"):
            return f"skipped ({reason}) for no reason"
        if self.was_taken_over(slug):
            return None
        return self.problem_of_map(slug, step) if step["stepType"] == "map" else self.problem_of_single(slug)

    def completed_dependencies(self, step):
        return {d: self.states[d][3] for d in step["dependencies"] if self.states[d][1] == "completed"}

    def meets_conditions(self, slug, step):
        """The whole object against the whole pattern, by PostgreSQL."""
        value = json.dumps(self.completed_dependencies(step) if step["dependencies"] else self.input)
        return all(
            self.sql.one("select %s::jsonb @> %s::jsonb", value, json.dumps(step[name]["value"])) == wanted
            for name, wanted in (("requiredInputPattern", True), ("forbiddenInputPattern", False)) if name in step)

    def problem_of_map(self, slug, step):
        elements = self.input
        if step["dependencies"]:
            elements = self.completed_dependencies(step).get(step["dependencies"][0], [])
        _, status, _, output = self.states[slug]
        if [element for _, element, _ in self.tasks[slug]] != elements:
            return f"has the tasks {self.tasks[slug]} for the elements {elements}"
        if status == "completed" and (output != [o for _, _, o in self.tasks[slug]]
                                      or {s for s, _, _ in self.tasks[slug]} - {"completed"}):
            return f"gave {output} from {self.tasks[slug]}"
        return None

    def problem_of_single(self, slug):
        _, status, _, output = self.states[slug]
        if len(self.tasks[slug]) != 1:
            return f"has {len(self.tasks[slug])} tasks"
        if status == "completed" and self.tasks[slug][0] != ("completed", None, output):
            return f"gave {output} from {self.tasks[slug]}"
        return None


def deploy_random_flows(sql, seed, count=12):
    rng = random.Random(seed)
    flows = {}
    for number in range(count):
        flow = Flow(rng, f"flow{number}")
        assert sql.one("select pgflow.ensure_deployment(%s)", flow.deployment)["compilation"] == "compiled"
        flows[flow.slug] = flow
    return flows


def problems_of_runs(sql, flows):
    problems = []
    for flow_slug, *row in sql.run("select flow_slug, run_id, status, input, output from pgflow.runs"):
        problems += Run(sql, flows[flow_slug], row).problems()
    return problems
