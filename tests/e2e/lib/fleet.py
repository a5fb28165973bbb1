"""Several hosts as one deployment: one function and one host a queue, replaced together as the guide says."""

from .programs import run_ctl, wait_until
from .rollout import build_ids, entry, manifest

# A host that learns of its deprecation between its last task and its stand-by ends
# with 69, so that its supervisor starts it afresh.
ENDED_WELL = (0, 69)


class Fleet:
    def __init__(self, hosts, queues, options=()):
        self._hosts, self._queues, self._options = hosts, queues, options
        self.running = {}

    def start(self, plugins, event="ready"):
        """A host for each queue, all with these modules, and wait until each says so."""
        for queue in self._queues:
            self.running[queue] = self._hosts.start(
                "--function", function(queue), *self._options, queue=queue, plugins=plugins, wait=False)
        self.wait(event)

    def wait(self, event):
        for host in self.running.values():
            host.log.wait(event)

    def ended(self):
        for host in self.running.values():
            status = host.wait()
            assert status in ENDED_WELL, f"status {status}:\n{host.log.tail()}"

    def stop(self):
        for host in self.running.values():
            host.stop()

    def replace(self, guide, deployment, plugins):
        """Sequence A of the guide, from its manifest to the confirmation, block by block."""
        modules = build_ids(*plugins)
        guide.load(manifest(deployment, *(
            entry(function(queue), "replace", True, modules, queue=queue) for queue in self._queues)))
        guide.run("fence")
        guide.run("deprecate")
        wait_until(lambda: guide.waits("wait") is None)
        self.ended()
        self.start(plugins, event="standby")
        assert [row["right_modules"] for row in guide.run("confirm_modules")] == ["t"] * len(self._queues)
        guide.run("apply")
        self.wait("ready")
        wait_until(lambda: guide.waits("confirm_coverage") is None)


def ctl(database, *arguments):
    return run_ctl(*arguments, env={"PGFLOW_DATABASE": database.url})


def more(load, count=10):
    """Wait until so many more runs have been started."""
    goal = len(load.runs) + count
    wait_until(lambda: len(load.runs) >= goal or load.refusals)


def flows_of(database, runs):
    """The concrete flows that these runs are of."""
    return {row.flow_slug for row in database.rows(
        "select distinct flow_slug from pgflow.runs where run_id = any (%s::uuid[])", runs)}


def function(queue):
    return f"fn-{queue}"


def assert_ran_once(database, path, flows="%"):
    """The lines that handlers wrote are the tasks of the database, one for one, each at its first attempt."""
    wrote = sorted(tuple(line.split()[:4]) for line in path.read_text().splitlines())
    tasks = database.rows(
        "select flow_slug, step_slug, run_id::text, task_index::text from pgflow.step_tasks"
        " where status = 'completed' and attempts_count = 1 and requeued_count = 0 and flow_slug like %s", flows)
    assert wrote == sorted(tuple(task) for task in tasks)


def assert_wholly_one_version(database):
    """Each task of a run says the version of the run's own slug: routed_v2 ran as 2.x.y."""
    mixed = database.rows(
        "select run_id, flow_slug, array_agg(distinct output ->> 'version') from pgflow.step_tasks"
        " where status = 'completed' group by 1, 2"
        " having bool_or(split_part(output ->> 'version', '.', 1) <> right(flow_slug, 1))")
    assert mixed == []


def active(database, alias):
    return database.value("select active_flow_slug from pgflow.flow_aliases where alias = %s", alias)


def until_active(database, alias, flow):
    database.until("select active_flow_slug = %s from pgflow.flow_aliases where alias = %s", flow, alias)
