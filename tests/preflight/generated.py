"""Random flows, as documents of the runner and as modules, and databases with work of theirs."""

import json
import uuid

ENDINGS = ["fail", "skip", "skip", "skip-cascade"]
QUEUES = ["qa", "qb", "qc"]


class Flow:
    """A flow of up to six steps in any queue mode."""

    def __init__(self, rng, slug, alias, queue=None):
        self.slug, self.alias = slug, alias
        self.mode = rng.choice(["routed"] * 8 + ["flow", "step"]) if queue is None else "routed"
        self.steps = []
        for number in range(rng.randint(1, 6)):
            self.steps.append(self.random_step(rng, number))
        if queue is not None and queue not in self.queues():
            rng.choice(self.steps)["queue"] = queue

    def random_step(self, rng, number):
        earlier = [step["slug"] for step in self.steps]
        kind = rng.choice(["single"] * 5 + ["map"]) if self.steps else "single"
        slug = f"s{number}"
        queue = {"flow": self.slug.lower(), "step": f"{self.slug}__{slug}".lower()}.get(self.mode) or rng.choice(QUEUES)
        return {
            "slug": slug, "stepType": kind, "queue": queue,
            "dependencies": rng.sample(earlier, min(len(earlier), rng.randrange(2 if kind == "map" else 3))) or
                            (earlier[:1] if kind == "map" else []),
            "whenUnmet": rng.choice(ENDINGS), "whenExhausted": rng.choice(ENDINGS),
            "requiredInputPattern": rng.choice(['{"m": 1}', '{"m": 1.0}', None, None, None, None, None]),
            "contract": rng.choice(["a", "b", None]), "maxAttempts": rng.choice([None, 1, 2]),
        }

    def queues(self):
        return {step["queue"] for step in self.steps}

    def changed(self, rng):
        """The same slug, and one thing else."""
        other = Flow.__new__(Flow)
        other.slug, other.alias, other.mode = self.slug, self.alias, self.mode
        other.steps = [dict(step) for step in self.steps]
        step = rng.choice(other.steps)
        what = rng.randrange(8)
        if what == 0:
            step["contract"] = "c"
        elif what == 1:
            step["requiredInputPattern"] = rng.choice(['{"m": 1.00}', '{"m": 2}', '{"m": 1e0, "m": 1}'])
        elif what == 2 and self.mode == "routed":
            step["queue"] = rng.choice(QUEUES)
        elif what == 3:
            step["maxAttempts"] = 5
        elif what == 4:
            step["whenExhausted"] = rng.choice(ENDINGS)
        elif what == 5:
            step["dependencies"] = list(reversed(step["dependencies"]))
        elif what == 6:
            other.steps.append(self.random_step(rng, len(other.steps)) | {"dependencies": [], "stepType": "single"})
        else:
            other.alias = rng.choice([other.alias, other.alias + "x"])
        return other

    def document(self):
        """What the runner prints of such a module."""
        def pattern(text):
            return '{"defined": false}' if text is None else '{"defined": true, "value": %s}' % text

        steps = []
        for number, step in enumerate(self.steps):
            options = {} if step["maxAttempts"] is None else {"maxAttempts": step["maxAttempts"]}
            plain = {name: step[name] for name in ("slug", "stepType", "dependencies", "queue", "whenUnmet", "whenExhausted", "contract")}
            head = json.dumps(plain | {"index": number, "options": options, "wantsFlowInput": False})[:-1]
            steps.append(f'{head}, "requiredInputPattern": {pattern(step["requiredInputPattern"])},'
                         ' "forbiddenInputPattern": {"defined": false}}')
        routes = {step["slug"]: step["queue"] for step in self.steps} if self.mode == "routed" else {}
        head = json.dumps({"abi": {"major": 1, "minor": 1, "needsMinor": 0}, "flowSlug": self.slug, "alias": self.alias,
                           "version": None, "queueMode": self.mode, "options": {}, "routes": routes})[:-1]
        return f'{head}, "steps": [{", ".join(steps)}]}}'

    def source(self):
        """A module of it; every step gives [1, 2]."""
        def text(value):
            return "NULL" if value is None else json.dumps(value)

        lines = ["#include <pgflow/module.h>",
                 "static int32_t run(void *state, const pgf_call *call)",
                 '{ (void)state; return call->write(call, "[1, 2]", 6) == 0 ? PGF_OK : PGF_ERROR; }']
        rows = []
        for number, step in enumerate(self.steps):
            deps, options = "NULL", "NULL"
            if step["dependencies"]:
                deps = f"deps{number}"
                lines.append(f"static const char *const {deps}[] = {{{', '.join(map(text, step['dependencies']))}, NULL}};")
            if step["maxAttempts"] is not None:
                options = f"&options{number}"
                lines.append(f"static const pgf_options options{number} = {{.max_attempts = PGF_INT({step['maxAttempts']})}};")
            rows.append(
                f"    {{.slug = {text(step['slug'])}, .run = run, .kind = PGF_STEP_{step['stepType'].upper()}, .deps = {deps},"
                f" .queue = {text(step['queue'] if self.mode == 'routed' else None)}, .options = {options},"
                f" .required_input = {text(step['requiredInputPattern'])}, .when_unmet = {text(step['whenUnmet'])},"
                f" .when_exhausted = {text(step['whenExhausted'])}, .contract = {text(step['contract'])}}},")
        lines += ["static const pgf_step steps[] = {", *rows, "};",
                  "PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER,"
                  f" .flow_slug = {text(self.slug)}, .alias = {text(self.alias)},"
                  f" .queue_mode = PGF_QUEUE_{self.mode.upper()}, .steps = PGF_ARRAY(steps)}};"]
        return "\n".join(lines) + "\n"


class World:
    """Old modules and work in flight. `tidy`: nothing that a host would have to wait for: no failures, no lost claims."""

    def __init__(self, rng, connection, tidy=False):
        self.rng, self.tidy = rng, tidy
        self.cursor = connection.cursor()
        self.olds = []
        for family in range(rng.randint(1, 3)):
            for version in range(rng.randint(1, 3)):
                flow = Flow(rng, f"f{family}_v{version}", f"f{family}")
                self.one("select pgflow.ensure_deployment(%s)", flow.document())
                self.olds.append(flow)
        self.work()
        if rng.random() < 0.1:
            self.one("select pgmq.create('elsewhere')")
        if not tidy and rng.random() < 0.1:
            self.one("do $$ begin execute format('alter database %I set pgflow.is_local = on', current_database()); end $$")

    def one(self, sql, *parameters):
        self.cursor.execute(sql, parameters or None)
        return self.cursor.fetchone()[0] if self.cursor.description else None

    def rows(self, sql, *parameters):
        self.cursor.execute(sql, parameters or None)
        return self.cursor.fetchall()

    def work(self):
        rng = self.rng
        for _ in range(rng.randint(0, 6)):
            flow = rng.choice(self.olds)
            for _ in range(rng.choice([0, 1, 2, 30])):
                self.one("select count(*) from pgflow.start_flow(%s, %s)", flow.slug, rng.choice(['{"m": 1}', "{}"]))
            if rng.random() < 0.5:
                self.one("select count(*) from pgflow.activate_flow(%s, %s, true)", flow.alias, rng.choice(
                    [other.slug for other in self.olds if other.alias == flow.alias]))
            for _ in range(rng.randrange(4)):
                self.claim_some()
        for flow in rng.sample(self.olds, rng.randrange(2)):
            if self.rows("select 1 from pgflow.drain_status(%s) where safe_to_retire and not is_active", flow.slug):
                self.one("select count(*) from pgflow.retire_flow(%s)", flow.slug)

    def claim_some(self):
        queue = self.rng.choice(sorted(set().union(*(flow.queues() for flow in self.olds))))
        worker = str(uuid.uuid4())
        self.one("select pgflow.register_worker(%s, %s, %s, array(select row(s.flow_slug, s.step_slug)::pgflow.task_pair"
                 " from pgflow.steps s where s.queue_name = %s))", worker, queue, "fn_" + queue, queue)
        claims = self.rows("select run_id::text, step_slug, task_index, claim_no from pgflow.read_and_claim_tasks(%s, %s, 30, %s)"
                           " where outcome = 'started'", queue, self.rng.choice([1, 3, 100]), worker)
        if not self.tidy:
            claims = claims[:len(claims) - self.rng.choice([0, 0, 0, 1])]
        if claims:
            results = ["completed" if self.tidy else self.rng.choice(["completed"] * 6 + ["failed", "permanent"]) for _ in claims]
            columns = [list(column) for column in zip(*claims)]
            self.rows("select * from pgflow.finish_tasks(%s, %s::uuid[], %s, %s, %s, %s, %s, %s)", worker, *columns, results,
                      ["[1, 2]"] * len(claims), ["x"] * len(claims))
        self.one("select pgflow.mark_worker_stopped(%s)", worker)

    def new_set(self):
        """Modules that a deployment might bring, each with a step on the queue, and the queue."""
        rng = self.rng
        queue = rng.choice(sorted(set().union(*(flow.queues() for flow in self.olds))))
        keep = rng.choice([1, 1, 0.7, 0.4])
        given = [flow for flow in self.olds if queue in flow.queues() and rng.random() < keep]
        if given and rng.random() < 0.3:
            given[rng.randrange(len(given))] = rng.choice(given).changed(rng)
        if rng.random() < 0.5 and queue in QUEUES:
            alias = rng.choice(self.olds).alias
            given.append(Flow(rng, f"{alias}_new", alias, queue))
        if rng.random() < 0.08 and queue in QUEUES:
            taken = rng.choice(self.olds)
            given.append(Flow(rng, *rng.choice([(taken.slug.upper(), "other"), ("other", taken.slug), (taken.alias, taken.alias),
                                                ("fresh", taken.alias.upper())]), queue))
        if rng.random() < 0.08 and queue in QUEUES:
            loose = Flow(rng, "loose", "loose", queue)
            private = [q for flow in self.olds if flow.mode != "routed" for q in flow.queues()] + ["elsewhere"]
            loose.steps.append(loose.random_step(rng, len(loose.steps)) | {"queue": rng.choice(private)})
            given.append(loose)
        unique = {flow.slug.lower(): flow for flow in given if queue in flow.queues()}
        return list(unique.values()), queue

    def check(self, modules, queue):
        """What a host's --check asks: the refusal of ensure_deployment, or the missing pairs."""
        pairs = [(flow.slug, step["slug"]) for flow in modules for step in flow.steps if step["queue"] == queue]
        connection = self.cursor.connection
        connection.autocommit = False
        try:
            for flow in modules:
                try:
                    answer = self.one("select pgflow.ensure_deployment(%s)", flow.document())
                except Exception as error:  # pylint: disable=broad-except
                    if not getattr(error, "pgcode", None):
                        raise
                    return flow.slug, set()
                if answer["compilation"] == "mismatch":
                    return flow.slug, set()
            missing = self.rows("select flow_slug, step_slug from pgflow.missing_coverage(%s, array(select row(f, s)::pgflow.task_pair"
                                " from unnest(%s::text[], %s::text[]) as u (f, s)))", queue, *map(list, zip(*pairs)))
            return None, set(missing)
        finally:
            connection.rollback()
            connection.autocommit = True
