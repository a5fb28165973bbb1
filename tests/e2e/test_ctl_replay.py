"""pgflowctl replay: what another build makes of recorded inputs, in a box from which nothing leaves."""

import json
import os
import subprocess

import pytest

from lib.compiled import build
from lib.paths import CTL, PATIENCE
from lib.programs import environment, run_ctl

FLOW = """
#include <pgflow/module.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int number(pgf_str text)
{
    const char *at = text.len > 0 ? strstr(text.ptr, "\\"n\\": ") : NULL;
    return at != NULL ? atoi(at + 5) : -1;
}
static int32_t first(void *state, const pgf_call *call)
{
    char out[256];
    int n = number(call->flow_input);
    (void)state;
    HOOK;
    snprintf(out, sizeof out, "{\\"n\\": %d, \\"twice\\": [%d.0, {\\"at\\": %ld}], \\"attempt\\": %u}", n, FIELD, (long)NOW,
             call->attempt);
    call->write(call, out, strlen(out));
    return PGF_OK;
}
static int32_t echo(void *state, const pgf_call *call)
{
    (void)state;
    call->write(call, call->input.ptr, call->input.len);
    return PGF_OK;
}
static const char *const after_first[] = {"first", NULL};
static const char *const both[] = {"first", "never", NULL};
static const char *const after_list[] = {"list", NULL};
static int32_t list(void *state, const pgf_call *call)
{
    (void)state;
    call->write(call, "[1, {\\"a\\": 2}, 3]", 16);
    return PGF_OK;
}
static int32_t wants(void *state, const pgf_call *call)
{
    (void)state;
    call->write(call, call->flow_input.ptr, call->flow_input.len);
    return PGF_OK;
}
static const pgf_step steps[] = {
    {.slug = "first", .run = first, .contract = "a"},
    {.slug = "never", .run = echo, .deps = after_first, .contract = "b", .required_input = "{\\"first\\": {\\"n\\": -5}}"},
    {.slug = "both", .run = echo, .deps = both, .contract = CONTRACT},
    {.slug = "list", .run = list},
    {.slug = "each", .run = echo, .kind = PGF_STEP_MAP, .deps = after_list},
    {.slug = "wants", .run = wants, .deps = after_first, .flags = PGF_WANTS_FLOW_INPUT},
};
PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = SLUG, .alias = "calm", .steps = PGF_ARRAY(steps)};
"""
USUAL = {"HOOK": "", "FIELD": "2 * n", "NOW": "7", "CONTRACT": '"c"', "SLUG": '"calm_v1"'}
# What a handler tries, each a letter in its error where it worked.
ESCAPES = """
#include <pgflow/module.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
extern char **environ;
static void tried(char *said, const char *what, int worked) { if (worked) strcat(strcat(said, " "), what); }
static void escape(const pgf_call *call)
{
    char said[400] = "escaped:";
    struct sockaddr_un unix_one = {AF_UNIX, PATH}, abstract = {AF_UNIX, ABSTRACT};
    struct sockaddr_in tcp = {AF_INET, htons(PORT), {htonl(0x7f000001)}};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), pair[2];
    tried(said, "socket", fd >= 0);
    tried(said, "connect", connect(fd, (struct sockaddr *)&unix_one, sizeof unix_one) == 0);
    tried(said, "abstract", connect(fd, (struct sockaddr *)&abstract, sizeof abstract) == 0);
    tried(said, "pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    tried(said, "tcp", connect(fd, (struct sockaddr *)&tcp, sizeof tcp) == 0);
    tried(said, "write", open(FOLDER "/written", O_WRONLY | O_CREAT, 0600) >= 0);
    tried(said, "home", open("/written-by-replay", O_WRONLY | O_CREAT, 0600) >= 0);
    tried(said, "tmp-of-others", access(FOLDER "/../../../../../../tmp/" MARK, F_OK) == 0);
    tried(said, "parent", open("/proc/1/environ", O_RDONLY) >= 0 || open("/proc/1/cmdline", O_RDONLY) >= 0);
    tried(said, "sysctl", open("/proc/sys/kernel/hostname", O_WRONLY) >= 0);
    tried(said, "own-tmp-missing", open("/tmp/mine", O_WRONLY | O_CREAT, 0600) < 0);
    for (char **entry = environ; *entry; entry++)
        tried(said, *entry, strncmp(*entry, "PG", 2) == 0 || strstr(*entry, "DATABASE") != NULL);
    call->set_error(call, said, strlen(said));
}
#define HOOK do { escape(call); return PGF_ERROR; } while (0)
"""


def made(folder, name, text=FLOW, before="", **changes):
    defines = {**USUAL, **changes}
    return build(folder, before + text, "-D_GNU_SOURCE", *(f"-D{key}={value}" for key, value in defines.items() if value is not None), name=name)


def replay(database, file, *options, **more):
    return run_ctl("replay", file, "--database", database.url, *options, **more)


def report(database, file, *options, flow="calm_v1", **more):
    said = replay(database, file, "--flow", flow, "--json", *options, **more)
    assert said.stdout, said.stderr
    return json.loads(said.stdout), said.returncode


def step(answer, slug):
    return next(one for one in answer["steps"] if one["step"] == slug)


@pytest.fixture(scope="module")
def boxed():
    """Skips where this machine gives no namespaces: there the refusal is what can be tested."""
    if subprocess.run(["unshare", "-Urmpnif", "mount", "-t", "proc", "proc", "/proc"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces here")


@pytest.fixture
def recorded(database, hosts, tmp_path):
    """Twelve runs of a flow, on record."""
    file = made(tmp_path, "calm.so")
    host = hosts.start(queue="calm_v1", plugins=[file])
    runs = [database.start_flow("calm_v1", {"n": n}) for n in range(12)]
    for run in runs:
        database.wait_run(run)
    host.stop()
    return file


def test_the_same_build_gives_what_is_recorded(boxed, database, recorded):
    answer, status = report(database, recorded)

    assert (status, answer["verdict"], answer["not_replayed"]) == (0, "equal", [])
    assert {one["step"]: one["replayed"] for one in answer["steps"]} == {
        "first": 12, "never": 0, "both": 12, "list": 12, "each": 36, "wants": 12,
    }


def test_one_changed_field_is_found_by_its_path_and_can_be_ignored(boxed, database, recorded, tmp_path):
    new = made(tmp_path, "new.so", FIELD="2*n+(n==5)")

    answer, status = report(database, new)
    (field,) = step(answer, "first")["fields"]

    assert (status, step(answer, "first")["differing"]) == (1, 1)
    assert (field["field"], field["first"]["path"]) == ("/twice/*", "/twice/0")
    assert (json.loads(field["first"]["before"]), json.loads(field["first"]["after"])) == (10, 11)
    assert report(database, new, "--ignore", "/x,/twice/*")[1] == 0
    assert report(database, new, "--step", "both")[1] == 0


def test_outcomes_are_compared_crash_and_failure(boxed, database, recorded, tmp_path):
    crashing = made(tmp_path, "crash.so", HOOK="if(n==3)raise(SIGSEGV)")
    failing = made(tmp_path, "fail.so", HOOK="if(n==4)return(PGF_ERROR)")

    answer, status = report(database, crashing)
    failed, _ = report(database, failing)

    assert (status, step(answer, "first")["differing"], step(answer, "first")["died"]) == (1, 1, 1)
    assert step(answer, "first")["fields"][0]["first"]["after"].startswith("died: ")
    assert step(failed, "first")["fields"][0]["first"]["after"].startswith("failed: ")


def test_a_handler_beyond_its_deadline_is_an_outcome(boxed, database, recorded, tmp_path):
    database.rows("update pgflow.steps set opt_timeout = 1 where flow_slug = 'calm_v1' and step_slug = 'first'")
    stuck = made(tmp_path, "stuck.so", HOOK="while(n==2)nanosleep(&(struct timespec){1,0},NULL)")

    answer, status = report(database, stuck, "--step", "first")

    found = step(answer, "first")
    assert (status, found["replayed"], found["differing"], found["died"]) == (1, 12, 1, 1)


def test_a_map_of_many_tasks_is_read_in_pages(boxed, database, recorded):
    run = database.value("select run_id::text from pgflow.runs order by started_at desc limit 1")
    database.rows(
        "insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, status, attempts_count, input, output,"
        " queued_at, started_at, completed_at) select 'calm_v1', %s, 'each', n, 'calm_v1', 'completed', 1, to_jsonb(n), to_jsonb(n),"
        " now(), now(), now() from generate_series(3, 3002) n", run,
    )

    answer, status = report(database, recorded, "--step", "each")

    assert (status, step(answer, "each")["replayed"]) == (0, 3036)


def test_nothing_leaves_the_box(boxed, database, recorded, tmp_path):
    socket_path = f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ['PGPORT']}"
    mark = os.path.basename(os.environ["PGF_CLUSTER"])
    assert os.path.exists(socket_path)
    prisoner = made(
        tmp_path, "prisoner.so", HOOK=None, before=ESCAPES, PATH=f'"{socket_path}"', PORT="5432",
        ABSTRACT='"\\0pgflow-replay"', FOLDER=f'"{tmp_path}"', MARK=f'"{mark}"',
    )

    environment_of_tool = {"PGPASSWORD": "secret", "PGFLOW_DATABASE": database.url, "DATABASE_URL": database.url}
    inside, status = report(database, prisoner, "--step", "first", env=environment_of_tool)
    outside, _ = report(database, prisoner, "--step", "first", "--unconfined", env=environment_of_tool)

    def errors(answer):
        return step(answer, "first")["fields"][0]["first"]["after"]

    assert status == 1
    assert errors(inside) == "failed: escaped:"
    # The same handler without the box: it is the walls that held it, not its clumsiness.
    assert "connect" in errors(outside) and "write" in errors(outside)
    assert "PG" not in errors(outside)


def test_without_namespaces_it_refuses_unless_told_otherwise(database, recorded):
    without = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"', "sh"]
    command = [*without, CTL, "replay", recorded, "--database", database.url, "--flow", "calm_v1"]
    if subprocess.run([*without, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no user namespaces here: the refusal cannot be provoked")

    refused = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
    allowed = subprocess.run([*command, "--unconfined"], env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert (refused.returncode, "--unconfined" in refused.stderr) == (78, True), refused
    # What stops it now is the socket of a server that this user may not reach, not the box.
    assert (allowed.returncode, "box" in allowed.stderr) in ((0, False), (69, False)), allowed


def test_an_ordinary_user_gets_a_box_too(boxed, tmp_path_factory, public_folder):
    if os.getuid() != 0:
        pytest.skip("every other test here runs as an ordinary user")
    file = made(public_folder, "calm.so")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*user, CTL, "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("that user may not start the program in this build folder")
    if subprocess.run([*user, "unshare", "-Urmpnif", "mount", "-t", "proc", "proc", "/proc"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces for ordinary users here")

    # The box comes first: once it stands, the database is missed.
    said = subprocess.run(
        [*user, CTL, "replay", file, "--database", "postgresql://127.0.0.1:1/none", "--flow", "calm_v1"],
        env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )

    assert said.returncode == 69, said


def test_another_version_is_replayed_where_contract_and_shape_are_equal(boxed, database, recorded, tmp_path):
    new = made(tmp_path, "v2.so", SLUG='"calm_v2"', CONTRACT='"d"')
    changed = made(tmp_path, "v3.so", SLUG='"calm_v3"', text=FLOW.replace(".deps = both", ".deps = after_first"))
    stranger = made(tmp_path, "other.so", text=FLOW.replace('"calm"', '"other"'), SLUG='"other_v1"')

    answer, status = report(database, new)

    assert (status, [one["step"] for one in answer["not_replayed"]]) == (0, ["both"])
    assert "contract" in answer["not_replayed"][0]["reason"]
    assert "dependencies" in report(database, changed)[0]["not_replayed"][0]["reason"]
    assert replay(database, stranger, "--flow", "calm_v1").returncode == 64


def test_baseline_tells_unstable_fields_from_regressions_and_a_slower_handler(boxed, database, recorded, tmp_path):
    clock = "({struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);t.tv_nsec;})"
    old = made(tmp_path, "old.so", NOW=clock)
    new = made(tmp_path, "new.so", NOW=clock, FIELD="2*n+(n==5)")
    slow = made(tmp_path, "slow.so", HOOK="nanosleep(&(struct timespec){0,50000000},NULL)")

    answer, status = report(database, new, "--baseline", old)
    slower, slow_status = report(database, slow, "--baseline", recorded)
    same, same_status = report(database, old, "--baseline", old)

    fields = {field["field"]: field["unstable"] for field in step(answer, "first")["fields"]}
    assert (status, step(answer, "first")["differing"]) == (1, 1)
    assert fields == {"/twice/*/at": True, "/twice/*": False}
    assert (slow_status, step(slower, "first")["slower"], step(slower, "first")["differing"]) == (1, True, 0)
    assert (same_status, same["verdict"]) == (0, "equal")


def test_one_crash_in_ten_thousand_is_found(boxed, database, recorded, tmp_path):
    database.rows(
        "with r as (insert into pgflow.runs (run_id, flow_slug, status, input, completed_at)"
        " select gen_random_uuid(), 'calm_v1', 'completed', jsonb_build_object('n', n), clock_timestamp() + '1s'"
        " from generate_series(100, 10099) n returning run_id, input),"
        " s as (insert into pgflow.step_states (run_id, flow_slug, step_slug, status, output, remaining_tasks, created_at, started_at, completed_at)"
        " select run_id, 'calm_v1', 'first', 'completed', 'null', 0, now(), now(), now() + '1s' from r returning run_id)"
        " insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, status, attempts_count, output, queued_at, started_at, completed_at)"
        " select 'calm_v1', run_id, 'first', 'calm_v1', 'completed', 2, jsonb_build_object('n', (input ->> 'n')::int, 'attempt', 2,"
        " 'twice', jsonb_build_array(2 * (input ->> 'n')::int, '{\"at\": 7}'::jsonb)), now(), clock_timestamp(), clock_timestamp() + '1s' from r"
    )
    crashing = made(tmp_path, "crash.so", HOOK="if(n==7777)abort()")

    answer, status = report(database, crashing, "--step", "first", "--runs", "20000", patience=PATIENCE * 4)

    found = step(answer, "first")
    assert (status, found["replayed"], found["differing"], found["died"]) == (1, 10012, 1, 1)


def test_failed_tasks_only_when_asked_for(boxed, database, hosts, tmp_path):
    failing = made(tmp_path, "failing.so", HOOK="if(n==1)return(PGF_PERMANENT)")
    host = hosts.start(queue="calm_v1", plugins=[failing])
    database.wait_run(database.start_flow("calm_v1", {"n": 0}))
    database.wait_run(database.start_flow("calm_v1", {"n": 1}), status="failed")
    host.stop()
    mended = made(tmp_path, "mended.so")

    completed, status = report(database, mended, "--step", "first")
    both, both_status = report(database, mended, "--step", "first", "--failed")

    assert (step(completed, "first")["replayed"], status) == (1, 0)
    assert (step(both, "first")["replayed"], both_status) == (2, 1)
    assert step(both, "first")["fields"][0]["first"]["before"] == "failed"


def test_a_role_that_may_only_read_suffices_and_nothing_is_written(boxed, database, recorded):
    reader = f"reader_{database.name}"
    database.rows(f"create role {reader} login")
    database.rows(f"grant usage on schema pgflow to {reader}")
    database.rows(f"grant select on all tables in schema pgflow to {reader}")
    try:
        said = run_ctl(
            "replay", recorded, "--flow", "calm_v1", "--database", database.url.replace("postgres@", f"{reader}@")
        )
    finally:
        database.rows(f"drop owned by {reader}")
        database.rows(f"drop role {reader}")

    assert said.returncode == 0, said.stderr


def test_slips_are_named(database, recorded, tmp_path):
    def refused(*options):
        said = replay(database, recorded, *options)
        return said.returncode, said.stderr

    assert refused()[0] == 64
    assert refused("--flow", "calm_v1", "--runs", "1", "--since", "today")[0] == 64
    assert refused("--flow", "calm_v1", "--ignore", "x", "--unconfined")[0] == 64
    status, words = refused("--flow", "calm_v9", "--unconfined")
    assert (status, "calm_v1" in words) == (64, True), words
    assert refused("--flow", "calm_v1", "--step", "firts", "--unconfined")[0] == 64
    assert refused("--flow", "calm_v1", "--step", "never", "--unconfined")[0] == 78
