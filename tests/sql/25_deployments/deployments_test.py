"""Deployments, switches, retirements, deletions and starts that meet each other."""

import json
import random
import threading

import psycopg2

DEPLOY = "select pgflow.ensure_deployment(%s)"
START = "select flow_slug from pgflow.start_flow(%s, '{}')"
RETIRE = "select flow_slug from pgflow.retire_flow(%s)"
ACTIVATE = "select active_flow_slug from pgflow.activate_flow(%s, %s, true)"
DELETE = "select pgflow.delete_flow_and_data(%s)::text"


def deployment(flow, alias, steps=("a", "b"), routes=None):
    """A chain of steps."""
    return json.dumps({
        "flowSlug": flow, "alias": alias, "queueMode": "routed" if routes else "flow", "routes": routes,
        "steps": [{"slug": step, "dependencies": list(steps[max(i - 1, 0):i])} for i, step in enumerate(steps)]})


def two_versions(database):
    """An alias v: v1, active, with steps a and b, and v2 with one more."""
    session = database.session()
    session.value(DEPLOY, deployment("v1", "v"))
    session.value(DEPLOY, deployment("v2", "v", ("a", "b", "c")))
    return session


def sqlstates(outcomes):
    return sorted(o.pgcode for o in outcomes if isinstance(o, psycopg2.Error))


def test_hosts_that_deploy_at_once_converge(database):
    for round_number in range(4):
        flow = f"f{round_number}"

        outcomes = database.at_once([(DEPLOY, deployment(flow, f"al{round_number}"))] * 8)

        assert sorted(o["compilation"] for o in outcomes) == ["compiled"] + ["verified"] * 7
        assert sorted(o["activation"] for o in outcomes) == ["activated"] + ["active"] * 7
    session = database.session()
    assert session.value("select count(*) from pgflow.alias_switches") == 4
    assert session.value("select count(*) from pgflow.steps") == 8


def test_versions_of_one_alias_that_are_deployed_at_once_activate_one_of_them(database):
    outcomes = database.at_once([(DEPLOY, deployment(f"v{i}", "v")) for i in range(8)])

    assert sorted(o["activation"] for o in outcomes) == ["activated"] + ["inactive"] * 7
    session = database.session()
    assert session.value("select count(distinct created_at) from pgflow.flows") == 8
    assert session.value("select count(*) from pgflow.flow_aliases") == 1


def test_a_name_goes_to_a_slug_or_to_an_alias_never_to_both(database):
    for i in range(5):
        outcomes = database.at_once([
            ("select (pgflow.create_flow(%s)).flow_slug", f"Name{i}"),
            (DEPLOY, deployment(f"other{i}", f"name{i}")),
        ])

        assert sqlstates(outcomes) == ["42710"]


def test_flows_that_share_new_queues_in_any_order_do_not_deadlock(database):
    queues = ["q1", "q2", "q3", "q4"]
    for i in range(3):
        calls = []
        for k in range(6):
            order = [f"{q}_{i}" for q in random.sample(queues, len(queues))]
            calls.append((DEPLOY, deployment(f"f{i}_{k}", f"al{i}_{k}", ("a", "b", "c", "d"),
                                             dict(zip("abcd", order)))))

        outcomes = database.at_once(calls)

        assert sqlstates(outcomes) == []
    assert database.session().value("select count(*) from pgflow.queues") == 12


def test_a_shared_and_a_private_queue_never_coincide(database):
    for i in range(5):
        outcomes = database.at_once([
            (DEPLOY, json.dumps({"flowSlug": f"y{i}", "queueMode": "routed", "routes": {"a": f"x{i}__a"}, "steps": [{"slug": "a"}]})),
            (DEPLOY, json.dumps({"flowSlug": f"x{i}", "queueMode": "step", "steps": [{"slug": "a"}]})),
        ])

        assert sqlstates(outcomes) == ["55000"]
    session = database.session()
    assert session.value("select count(*) from pgflow.queues") == 5
    assert session.value("select count(*) from pgmq.list_queues()") == 5


def test_steps_that_are_added_at_once_are_numbered_in_turn(database):
    session = database.session()
    session.value("select (pgflow.create_flow('f')).flow_slug")

    outcomes = database.at_once([("select (pgflow.add_step('f', %s)).step_index", f"s{i}") for i in range(8)])

    assert sorted(outcomes) == list(range(8))


def test_a_retirement_waits_for_a_start_and_is_refused(database):
    two_versions(database).value(ACTIVATE, "v", "v2")
    starter = database.session()
    starter.begin()
    starter.value(START, "v1")

    retirement = database.start(RETIRE, "v1")
    database.wait_until_blocked(retirement)
    starter.commit()

    assert "1 started run" in str(retirement.outcome())


def test_a_start_waits_for_a_retirement_and_is_refused_by_name(database):
    two_versions(database).value(ACTIVATE, "v", "v2")
    operator = database.session()
    operator.begin()
    operator.value(RETIRE, "v1")

    start = database.start(START, "v1")
    database.wait_until_blocked(start)
    operator.commit()

    assert 'flow "v1" is retired' in str(start.outcome())
    assert database.session().value("select count(*) from pgflow.runs") == 0


def test_a_start_whose_version_retires_meanwhile_goes_to_the_next(database):
    two_versions(database)
    operator = database.session()
    operator.begin()
    operator.value(ACTIVATE, "v", "v2")
    operator.value(RETIRE, "v1")

    start = database.start(START, "v")
    database.wait_until_blocked(start)
    operator.commit()

    assert start.outcome() == "v2"


def test_a_retirement_waits_for_a_switch_to_its_flow_and_is_refused(database):
    two_versions(database)
    operator = database.session()
    operator.begin()
    operator.value(ACTIVATE, "v", "v2")

    retirement = database.start(RETIRE, "v2")
    database.wait_until_blocked(retirement)
    operator.commit()

    assert 'alias "v" points at it' in str(retirement.outcome())


def test_a_switch_waits_for_the_retirement_of_its_target_and_is_refused(database):
    two_versions(database)
    operator = database.session()
    operator.begin()
    operator.value(RETIRE, "v2")

    switch = database.start(ACTIVATE, "v", "v2")
    database.wait_until_blocked(switch)
    operator.commit()

    assert 'flow "v2" is retired' in str(switch.outcome())
    assert database.session().value("select active_flow_slug from pgflow.flow_aliases") == "v1"


def test_a_start_waits_for_a_deletion_and_finds_the_version_before(database):
    session = two_versions(database)
    session.value(ACTIVATE, "v", "v2")
    operator = database.session()
    operator.begin()
    operator.value(DELETE, "v2")

    start = database.start(START, "v")
    database.wait_until_blocked(start)
    operator.commit()

    assert start.outcome() == "v1"


def test_a_start_waits_for_a_flow_that_is_compiled_anew_and_gets_its_new_steps(database):
    session = database.session()
    shape = json.dumps({"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]})
    session.value("select pgflow.ensure_flow_compiled('f', %s)", shape)
    operator = database.session()
    operator.begin()
    operator.value("select pgflow.ensure_flow_compiled('f', %s, true)", json.dumps({"steps": [{"slug": "c"}]}))

    start = database.start(START, "f")
    database.wait_until_blocked(start)
    operator.commit()

    assert start.outcome() == "f"
    assert session.value("select string_agg(step_slug, ',') from pgflow.step_states") == "c"
    assert session.value("select string_agg(step_slug, ',') from pgflow.step_tasks") == "c"


def test_a_deletion_waits_for_a_start_and_takes_its_run_along(database):
    session = two_versions(database)
    starter = database.session()
    starter.begin()
    starter.value(START, "v1")

    deletion = database.start(DELETE, "v1")
    database.wait_until_blocked(deletion)
    starter.commit()

    assert deletion.outcome() == ""
    assert session.value("select count(*) from pgflow.runs") == 0
    assert session.value("select count(*) from pgflow.step_tasks") == 0


def test_a_flow_that_moves_to_another_alias_under_a_waiting_host_asks_it_to_repeat(database):
    database.session().value(DEPLOY, deployment("f", "before"))
    operator = database.session()
    operator.begin()
    operator.value(DELETE, "f")
    operator.value(DEPLOY, deployment("f", "after"))

    host = database.start(DEPLOY, deployment("f", "before"))
    database.wait_until_blocked(host)
    operator.commit()

    assert host.outcome().pgcode == "40001"
    repeated = database.session().value(DEPLOY, deployment("f", "before"))
    assert repeated["differences"] == ['alias: "after" in the database, "before" in the deployment']


def test_a_verdict_is_refused_where_it_could_not_see_what_others_committed(database):
    session = two_versions(database)
    session.rows("begin isolation level repeatable read")

    try:
        session.value(RETIRE, "v2")
    except psycopg2.Error as error:
        refusal = error

    assert refusal.pgcode == "55000"
    assert 'flow "v2" cannot be locked in a transaction that is repeatable read' in str(refusal)


def test_hosts_that_offer_at_once_make_one_switch(database):
    session = two_versions(database)
    for queue, pairs in (("v1", "{v1/a,v1/b}"), ("v2", "{v2/a,v2/b,v2/c}")):
        session.value("select pgflow_test.put_worker(%s, 'fn', %s)::text", queue, pairs)
    host = session.value("select worker_id from pgflow.workers where queue_name = 'v2'")

    outcomes = database.at_once([("select activation from pgflow.offer_activation('v2', %s)", host)] * 8)

    assert sorted(outcomes) == ["activated"] + ["active"] * 7
    assert session.value("select count(*) from pgflow.alias_switches where to_flow_slug = 'v2'") == 1


def test_every_run_is_wholly_of_one_version_while_the_alias_flips(database):
    session = two_versions(database)
    operator = database.session()
    done = threading.Event()
    flips = []

    def flip():
        while not done.is_set():
            flips.append(operator.value(ACTIVATE, "v", "v2" if len(flips) % 2 == 0 else "v1"))

    flipping = threading.Thread(target=flip, daemon=True)
    flipping.start()
    starters = [database.session() for _ in range(2)]

    def start(starter):
        for _ in range(50):
            starter.value(START, "v")
            starter.value("select count(*) from pgflow.start_flows('v', array['{}', '{}']::jsonb[])")

    threads = [threading.Thread(target=start, args=(s,), daemon=True) for s in starters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    flipping.join()

    runs = session.rows("""
        select r.flow_slug,
               (select array_agg(s.step_slug order by s.step_slug) from pgflow.step_states s where s.run_id = r.run_id),
               (select array_agg(distinct s.flow_slug) from pgflow.step_states s where s.run_id = r.run_id),
               (select array_agg(distinct t.flow_slug || ' on ' || t.queue_name) from pgflow.step_tasks t where t.run_id = r.run_id)
        from pgflow.runs r""")
    assert len(runs) == 300
    assert len(flips) > 10
    for flow, steps, of_states, of_tasks in runs:
        assert steps == {"v1": ["a", "b"], "v2": ["a", "b", "c"]}[flow]
        assert of_states == [flow]
        assert of_tasks == [f"{flow} on {flow}"]


def test_switches_retirements_and_starts_never_cross_or_deadlock(database):
    session = two_versions(database)
    refusals = {"55000", "42704"}
    unexpected = []

    def work(calls, times):
        worker = database.session()
        chance = random.Random(times)
        for _ in range(times):
            statement, *values = chance.choice(calls)
            try:
                worker.value(statement, *values)
            except psycopg2.Error as error:
                if error.pgcode not in refusals:
                    unexpected.append(error)

    flows = ("v1", "v2")
    switches = [(ACTIVATE, "v", flow) for flow in flows]
    retirements = [(RETIRE, flow) for flow in flows] + [("select (pgflow.unretire_flow(%s)).flow_slug", flow) for flow in flows]
    starts = [(START, name) for name in ("v", *flows)]
    ends = [("select count(pgflow.cancel_run(run_id, 'test')) from (select run_id from pgflow.runs "
             "where status = 'started' order by run_id limit 5) as r",)]
    deploys = [(DEPLOY, deployment("v1", "v")), (DEPLOY, deployment("v2", "v", ("a", "b", "c")))]
    threads = [threading.Thread(target=work, args=(calls, 150 + i), daemon=True)
               for i, calls in enumerate((switches, retirements, retirements, starts, starts, ends, deploys))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert unexpected == []
    assert session.value("""
        select count(*) from pgflow.runs r join pgflow.flows f using (flow_slug)
        where r.status = 'started' and f.retired_at is not null""") == 0
    assert session.value("""
        select count(*) from pgflow.flow_aliases a join pgflow.flows f on f.flow_slug = a.active_flow_slug
        where f.retired_at is not null""") == 0
