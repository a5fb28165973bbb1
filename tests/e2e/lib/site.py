"""A site that pgflowctl's driver works on: functions whose hosts are plain processes, started and stopped by hooks."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import uuid

from .paths import CTL, HOST, PATIENCE, SOURCE, module
from .programs import Program, environment, run_ctl, wait_gone, wait_until
from .rollout import OPERATOR, build_ids, entry, manifest, operator

HOOKS = SOURCE / "packaging" / "hooks" / "host-process"


class Site:
    """`functions`: {function: queue}. A release is a list of modules that all hosts carry; `install` gives it to a
    function, as the first thing of its start hook."""

    def __init__(self, database, folder):
        self.database, self.folder = database, folder
        # The driver is an operator and nothing else; hosts have their login in their configuration.
        operator(database)
        self.host_environment = {"HOST_PROGRAM": HOST}
        self.environment = {"PGFLOW_DATABASE": database.url.replace(f"{os.environ['PGUSER']}@", f"{OPERATOR}@"), "HOST_PROGRAM": HOST}
        self.queues = {}
        (folder / "modules").mkdir()

    def configure(self, function, queue, modules):
        """The host's configuration; its modules are those."""
        self.queues[function] = queue
        lines = [f"queue = {queue}", f"function = {function}", f"database = {self.database.url}", "log-format = json",
                 f"module-dir = {self.folder / 'modules'}", "activate = manual", *(f"plugin = {name if os.sep in str(name) else module(name)}" for name in modules)]
        path = self.folder / f"{function}.conf"
        part = path.with_suffix(".part")
        part.write_text("\n".join(lines) + "\n")
        part.chmod(0o600)
        part.replace(path)

    def begin(self, functions, modules):
        """Configure and start the hosts of a release, and wait until they work."""
        for function, queue in functions.items():
            self.configure(function, queue, modules)
            self.hook("start", function)
        self.until_working(functions)

    def stand_by(self, function, queue, plugin):
        """A worker row that stands by whatever is said to it, as one whose supervisor brings it back; call it to end it."""
        worker, info = str(uuid.uuid4()), json.dumps({"host": "here", "pid": 1, "modules": [{"flow": plugin, "buildId": build_ids(plugin)[0]}]})
        self.database.rows("select pgflow.register_worker(%s, %s, %s, '{}', %s, true)", worker, queue, function, info)
        self.database.rows("update pgflow.workers set last_heartbeat_at = clock_timestamp() + interval '1 hour' where worker_id = %s", worker)
        return lambda: self.database.rows("select pgflow.mark_worker_stopped(%s)", worker)

    def until_working(self, functions):
        for function in functions:
            self.database.until("select exists (select from pgflow.workers where function_name = %s and stopped_at is null"
                                " and not standby)", function)

    def hook(self, verb, function):
        done = subprocess.run([HOOKS, verb, self.folder, function], env=environment(**self.host_environment), check=False,
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def next_release(self, functions, modules):
        """The configurations of the next release, which a start hook puts in place."""
        for function, queue in functions.items():
            known = self.folder / f"{function}.conf"
            before = known.read_text() if known.exists() else None
            self.configure(function, queue, modules)
            known.replace(self.folder / f"{function}.conf.next")
            (self.folder / f"{function}.conf.next").chmod(0o600)
            if before is not None:
                known.write_text(before)
                known.chmod(0o600)

    def start_hook(self, release):
        """Puts the configuration of that release in place, then starts the host."""
        conf = f"{self.folder}/$ROLLOUT_FUNCTION.conf"
        return f'cp -p "{conf}.{release}" "{conf}" && {HOOKS} start {self.folder} "$ROLLOUT_FUNCTION"'

    def hooks(self, path, **replaced):
        """The hooks file beside a manifest."""
        commands = {verb: f'{HOOKS} {verb} {self.folder} "$ROLLOUT_FUNCTION"' for verb in ("stop", "status")}
        commands["start"] = self.start_hook("next")
        file = path.with_name(path.name.replace(".json", ".hooks.json"))
        file.write_text(json.dumps({"timeout": 30, "functions": {"*": {**commands, **replaced}}}))
        file.chmod(0o600)
        return file

    def write(self, name, deployment):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(deployment))
        return path

    def sequence_a(self, name, functions, modules):
        """A manifest that replaces these functions, and what their start hooks put in place."""
        self.next_release(functions, modules)
        return self.write(name, manifest(name, *(
            entry(function, "replace", True, build_ids(*modules), queue=queue) for function, queue in functions.items())))

    def sequence_b(self, name, old, old_flow, new, modules):
        self.next_release(new, modules)
        return self.write(name, manifest(
            name, *(entry(function, "keep-draining", True, flow=old_flow) for function in old),
            *(entry(function, "add", True, build_ids(*modules), queue=queue) for function, queue in new.items())))

    def run(self, path, *options, **more):
        return run_ctl("rollout", path, "run", *options, env=self.environment, patience=PATIENCE * 4, **more)

    def start_driver(self, path, *options):
        return Program([CTL, "rollout", path, "run", *options], environment(**self.environment), self.folder)

    def ctl(self, *arguments):
        return run_ctl(*arguments, env=self.environment)

    def carried(self):
        """{function: the flows that its live working hosts carry, with their build-ids}."""
        rows = self.database.rows(
            "select function_name, array_agg(distinct m ->> 'buildId' order by m ->> 'buildId') as modules from pgflow.workers,"
            " jsonb_array_elements(info -> 'modules') m"
            " where stopped_at is null and deprecated_at is null and not standby"
            " and last_heartbeat_at > clock_timestamp() - interval '15 s' group by 1")
        return {row.function_name: row.modules for row in rows}

    def hosts_of(self, function):
        """How many processes there are with this function's configuration."""
        return sum(1 for words in self._command_lines().values() if f"{self.folder}/{function}.conf".encode() in words.split(b"\0"))

    def processes(self):
        """Of this site, by their configuration file on the command line."""
        return [pid for pid, words in self._command_lines().items() if f"{self.folder}/".encode() in words and pid != os.getpid()]

    @staticmethod
    def _command_lines():
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                found[int(folder.name)] = (folder / "cmdline").read_bytes()
        return found

    def end(self):
        for _ in range(3):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                wait_gone(pid)
        wait_until(lambda: not self.processes())
