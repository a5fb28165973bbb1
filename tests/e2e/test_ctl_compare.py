"""pgflowctl compare says of two files what the database would say of the second where the first is compiled."""

import json
import random
import re
import subprocess

import pytest

from lib.compiled import build
from lib.paths import BUILD, SANITIZED
from lib.programs import run_ctl

FLOW = """
#include <pgflow/module.h>
static int32_t run(void *state, const pgf_call *call) { return state != NULL && call == NULL; }
static const char *const both[] = {"first", "second", NULL};
static const pgf_options options = {.max_attempts = PGF_INT(4)};
static const pgf_step steps[] = {
    {.slug = "first", .run = run, .contract = "a to b", .options = &options},
    {.slug = "second", .run = run, .contract = "a to c", .required_input = "{\\"n\\": [1.0, 2], \\"m\\": 9007199254740993}"},
    {.slug = "third", .run = run, .contract = "b, c to d", .deps = both, .when_exhausted = "skip"},
};
PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "flow_v1", .alias = "flow", .steps = PGF_ARRAY(steps)};
"""
# What is changed, and into what; whether the slug may stay; a word of the answer.
CHANGES = [
    ("a to c", "a to e", 1, 'contract of step second: "a to c" -> "a to e"'),
    ("\"first\", \"second\", NULL", "\"second\", \"first\", NULL", 0, "the same slug is safe"),
    ("\"first\", \"second\", NULL", "\"second\", NULL", 1, "dependencies of step third"),
    ("1.0, 2", "1, 2.00", 0, "the same slug is safe"),
    ("9007199254740993", "9007199254740992", 1, "requiredInputPattern of step second"),
    ("9007199254740993", "9.007199254740993e15", 0, "the same slug is safe"),
    ('.when_exhausted = "skip"', '.when_exhausted = "fail"', 1, 'whenExhausted of step third: "skip" -> "fail"'),
    ('.when_exhausted = "skip"', ".options = &options", 1, "whenExhausted of step third"),
    ("PGF_INT(4)", "PGF_INT(5)", 0, "maxAttempts of step first: 4 -> 5"),
    ('{.slug = "third",', '{.slug = "last",', 1, "step third is lost"),
    ('{.slug = "first", .run = run, .contract = "a to b", .options', '{.slug = "first", .run = run, .kind = PGF_STEP_MAP, .contract = "a to b", .options', 1,
     'type of step first: "single" -> "map"'),
    ('.alias = "flow"', '.alias = "other"', 1, 'alias of the flow: "flow" -> "other"'),
    ('.alias = "flow"', '.alias = "flow", .queue_mode = PGF_QUEUE_STEP', 1, "route of step first"),
    ('.contract = "a to c"', ".contract = NULL", 1, 'contract of step second: "a to c" -> none'),
]


def descriptor(file):
    return run_ctl("inspect", file, "--json").stdout


@pytest.mark.parametrize("before, after, status, words", CHANGES, ids=[words for *_, words in CHANGES])
def test_the_verdict_is_that_of_the_database(database, tmp_path, before, after, status, words):
    assert before in FLOW
    old, new = build(tmp_path, FLOW, name="old.so"), build(tmp_path, FLOW.replace(before, after), name="new.so")
    database.rows("select pgflow.ensure_deployment(%s)", descriptor(old))

    said = run_ctl("compare", old, new)
    answer = database.value("select pgflow.ensure_deployment(%s)", descriptor(new))

    assert (said.returncode, words in said.stdout) == (status, True), said
    assert (answer["compilation"] == "mismatch") == (status == 1), answer
    drift = json.loads(run_ctl("compare", old, new, "--json").stdout)["option_differences"]
    assert status == 1 or len(drift) == len(answer["optionDrift"]), (drift, answer)


def test_a_step_without_a_contract_cannot_be_told(tmp_path):
    plain = FLOW.replace('.contract = "a to c",', "")
    old, new = build(tmp_path, plain, name="old.so"), build(tmp_path, plain, name="new.so")

    said = run_ctl("compare", old, new)
    answer = json.loads(run_ctl("compare", old, new, "--json").stdout)

    assert said.returncode == 78 and "state one" in said.stdout and "step second" in said.stdout, said
    assert (answer["verdict"], answer["differences"], answer["steps_without_contract"]) == ("no_contract", [], ["step second"])


def test_another_slug_of_the_same_alias_runs_beside_the_old_one(tmp_path):
    old = build(tmp_path, FLOW, name="old.so")
    new = build(tmp_path, FLOW.replace("flow_v1", "flow_v2").replace("a to c", "a to e"), name="new.so")

    said = run_ctl("compare", old, new)

    assert said.returncode == 0 and "versions of flow that run side by side" in said.stdout, said
    assert 'contract of step second: "a to c" -> "a to e"' in said.stdout


def test_modules_of_different_flows_are_refused(tmp_path):
    old = build(tmp_path, FLOW, name="old.so")
    new = build(tmp_path, FLOW.replace("flow_v1", "tide").replace('"flow"', '"tide"'), name="new.so")

    said = run_ctl("compare", old, new)

    assert said.returncode == 64 and "no versions of one flow" in said.stderr, said


def test_lint_against_a_released_build_finds_the_same(tmp_path):
    old, new = build(tmp_path, FLOW, name="old.so"), build(tmp_path, FLOW.replace("a to c", "a to e"), name="new.so")
    next_version = build(tmp_path, FLOW.replace("flow_v1", "flow_v2").replace("a to c", "a to e"), name="next.so")

    found = json.loads(run_ctl("lint", new, "--against", old, "--json").stdout)
    same = run_ctl("lint", old, "--against", old)
    beside = run_ctl("lint", next_version, "--against", old)

    assert [(one["check"], one["text"]) for one in found if one["check"] == "slug"] == [
        ("slug", 'contract of step second: "a to c" -> "a to e"')]
    if not SANITIZED:  # a sanitizer adds names of its own, which lint finds
        assert (same.returncode, beside.returncode) == (0, 0), (same.stdout, beside.stdout)


NUMBERS = ["0", "-0", "0.0", "0e5", "1", "1.0", "1.00", "10e-1", "0.1e1", "1e0", "100", "1e2", "1E+2", "-1", "-1.0", "12.5", "125e-1",
           "9007199254740993", "9007199254740992", "9.007199254740993e15", "123456789012345678901234567890", "1e-20", "0.00000000000000000001"]
STRINGS = ['""', '"a"', r'"\u0061"', '"é"', r'"\u00e9"', r'"\ud83d\ude00"', '"😀"', r'"\n"', r'"\u000a"', r'"\/"', '"/"', r'"\""', r'"\u0022"', '"1"', '"t"']


def a_value(draw, depth=0):
    kind = draw.randrange(5 if depth < 3 else 3)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind == 1:
        return draw.choice(STRINGS)
    if kind == 2:
        return draw.choice(["true", "false", "null", "[]", "{}"])
    blank = draw.choice(["", " "])
    if kind == 3:
        return "[" + f",{blank}".join(a_value(draw, depth + 1) for _ in range(draw.randrange(3))) + blank + "]"
    return "{" + f"{blank},".join(f"{draw.choice(STRINGS[:6])}{blank}:{a_value(draw, depth + 1)}" for _ in range(draw.randrange(4))) + "}"


def a_pair(draw):
    """Two values that are often equal: one of both, or one with its parts in another form."""
    one = a_value(draw)
    if draw.random() < 0.5:
        return one, a_value(draw)
    other = one
    for form in NUMBERS + STRINGS:
        if form in other and draw.random() < 0.3:
            other = other.replace(form, draw.choice(NUMBERS if form in NUMBERS else STRINGS), 1)
    return one, other


def as_jsonb(database, pairs):
    sql = "select coalesce(array_agg(a::jsonb = b::jsonb order by n), '{}') from unnest(%s::text[], %s::text[]) with ordinality as p (a, b, n)"
    return database.value(sql, [one for one, _ in pairs], [other for _, other in pairs])


def test_values_are_equal_exactly_where_jsonb_has_them_so(database):
    draw = random.Random(7)
    pairs = [(one, other) for one in NUMBERS for other in NUMBERS] + [(one, other) for one in STRINGS for other in STRINGS]
    pairs += [a_pair(draw) for _ in range(20_000)]
    pairs = [pair for pair in pairs if all(is_json(text) for text in pair)]

    told = subprocess.run([BUILD / "bin" / "json_same"], input="".join(f"{one}\n{other}\n" for one, other in pairs),
                          capture_output=True, text=True, check=True).stdout.split()
    expected = ["t" if same else "f" for same in as_jsonb(database, pairs)]

    wrong = [(pair, one) for pair, one, right in zip(pairs, told, expected, strict=True) if one != right]
    assert not wrong, wrong[:5]
    assert expected.count("t") > 1000 and expected.count("f") > 1000


def is_json(text):
    """JSON that PostgreSQL can store."""
    if r"\u0000" in text or re.search(r"[eE][+-]?\d{4}", text):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
