"""The bench itself, with a few tasks a workload: every path, and no figure of it means anything.

That each task was completed exactly once is asserted by the bench, workload by workload.
"""

import copy
import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pgflow_bench import compare, docs, plot, report, summary  # noqa: E402
from pgflow_bench.sizes import SCALES  # noqa: E402
from pgflow_bench.workload import Reach, Workload  # noqa: E402

COST = {
    "tasks", "seconds", "rate", "x_f1", "x_f100", "pg_cpu_ms", "host_cpu_ms", "runner_cpu_ms", "wal_bytes", "wal_syncs",
    "rows_written", "round_trips", "dead_tuples", "dead_left", "hot_share", "claimed_again", "in_flight", "others_percent", "wait_p50_ms", "wait_p99_ms",
}  # fmt: skip
SMOKE = SCALES["smoke"]
# workload: {variant: (tasks, figures of its own)}; None: as many as the run left time for
DRAINS = {
    "W1": {
        "defaults": (SMOKE["w1_runs"], set()), "best": (SMOKE["w1_runs"], set()),
        "cold": (SMOKE["w1_runs"], {"of_warm"}), "warm": (SMOKE["w1_runs"], set()),
    },
    "W2": {
        "defaults": (3 * SMOKE["w2_runs"], set()), "best": (3 * SMOKE["w2_runs"], set()),
        "cold": (3 * SMOKE["w2_runs"], {"of_warm"}), "warm": (3 * SMOKE["w2_runs"], set()),
    },
    "W3": {
        "n=50": (50, set()), "n=100": (100, set()), "1 KB": (SMOKE["w3_large"], set()), "slowest": (None, {"of_fastest"}),
        "cold": (100, {"of_warm"}), "warm": (100, set()),
    },
    "W5": {
        "1 KB": (5, {"payload_bytes", "of_plain_time", "of_plain_wal"}),
        "100 KB": (2, {"payload_bytes", "of_plain_time", "of_plain_wal"}),
    },
    "W6": {"one": (SMOKE["w6_runs"], set()), "four": (SMOKE["w6_runs"], {"of_one_host", "least_share"})},
    "W7": {"mixed": (20 * SMOKE["w7_runs"], {"of_w1"}), "w1": (20 * SMOKE["w7_runs"], set())},
    "W8": {
        "backlog": (None, {"of_w1", "index_mb", "queue_index_mb", "task_index_mb", "table_mb"}),
        "delayed": (SMOKE["w8_visible"], {"of_w1", "index_mb", "queue_index_mb", "task_index_mb", "table_mb", "empty_claim_ms"}),
        "w1": (SMOKE["w1_runs"], set()),
    },
}
OTHERS = {
    "W4": {kind: {"p50_ms", "p99_ms", "max_ms", "start_p50_ms", "others_percent"} for kind in ("listen", "polling")},
    "idle": {"host": {"cpu_percent", "pg_cpu_percent", "wal_bytes_per_s", "pss_mb", "runners"}},
    "clients": {
        f"{clients}{where}": {"rate", "of_one_client"} | ({"of_eight_clients"} if clients == 16 else set())
        for clients in (1, 2, 8, 16) for where in ("", " with a host")
    },
    "starts": {"start_flow": {"rate", "x_f1", "wal_bytes"}, "start_flows": {"rate", "x_f100", "wal_bytes"}},
}


def run(*arguments):
    return subprocess.run(
        [HERE / "run", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    file = tmp_path_factory.mktemp("bench") / "smoke.json"
    done = run("--smoke", "--account", "--json", file)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text()), done.stdout, file, done.stderr


def medians(summary_, name, variant):
    return {figure: found["median"] for figure, found in summary_["workloads"][name]["variants"][variant].items()}


@pytest.mark.parametrize("name", DRAINS)
def test_a_drain_is_reported_with_every_cost_of_a_task(smoke, name):
    workload = smoke[0]["workloads"][name]

    assert set(workload["variants"]) == set(DRAINS[name])
    for variant, (tasks, own) in DRAINS[name].items():
        figures = medians(smoke[0], name, variant)
        assert COST | own <= set(figures), f"{name} {variant} lacks {(COST | own) - set(figures)}"
        assert tasks is None or figures["tasks"] == tasks
        assert figures["rate"] == pytest.approx(figures["tasks"] / figures["seconds"])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_drain_is_reported_with_its_figures(smoke, name):
    for variant, figures in OTHERS[name].items():
        assert figures <= set(medians(smoke[0], name, variant))


def test_a_claim_and_its_result_write_rows_and_log_and_are_calls(smoke):
    figures = medians(smoke[0], "W1", "defaults")

    assert figures["rows_written"] > 2 and figures["dead_tuples"] > 1 and figures["wal_bytes"] > 100
    assert 0 < figures["round_trips"] < 2
    assert 1 <= figures["in_flight"] <= 100


def test_an_account_names_the_functions_that_finish_and_claim(smoke):
    account = smoke[3].partition(f"{SMOKE['w1_runs']} tasks on noop: time in functions")[2].partition("\n\n")[0]

    for function in ("pgflow.finish_tasks", "pgflow.read_and_claim_tasks"):
        assert function in account


def test_floors_stand_beside_every_workload(smoke):
    for name, workload in smoke[0]["workloads"].items():
        floors = workload["floors"]
        assert floors["F1"]["tasks"]["median"] == SMOKE["floor_single"], name
        assert floors["F100"]["tasks"]["median"] == SMOKE["floor_batch"], name
        # A call reads ten and ten archive them; a call reads a hundred and one archives them.
        assert floors["F1"]["round_trips"]["median"] == pytest.approx(1.1, abs=0.3)
        assert floors["F100"]["round_trips"]["median"] < 0.1


def test_every_workload_is_in_the_text_and_in_the_documentation(smoke):
    found, printed, file, _ = smoke

    table, drawing = docs.results(found), plot.svg(found)

    for name, workload in found["workloads"].items():
        assert f"{name}: {workload['title']}" in printed
        assert f"### {name}: {workload['title']}" in table
        assert all(f"{name} {reach['variant']} {reach['figure']}" in drawing for reach in workload["reaches"])
    assert run("--from", file).stdout == printed


def on_a_quiet_machine(found):
    """The same figures, as if nothing else had run; this test cannot know what does."""
    quiet = copy.deepcopy(found)
    for workload in quiet["workloads"].values():
        for figures in workload["variants"].values():
            figures["others_percent"] = {"median": 0, "min": 0, "max": 0}
    return quiet


def test_a_shared_machine_is_told_in_report_and_documentation(smoke):
    quiet = on_a_quiet_machine(smoke[0])
    busy = copy.deepcopy(quiet)
    for workload in busy["workloads"].values():
        for figures in workload["variants"].values():
            figures["others_percent"]["median"] = 60

    for told in (report.text, docs.results):
        assert "Something else had 60 % of the processors" in told(busy)
        assert "Something else had" not in told(quiet)


def slowed(found, name, variant, figure, factor):
    changed = copy.deepcopy(found)
    spread = changed["workloads"][name]["variants"][variant][figure]
    for end in spread:
        spread[end] *= factor
    return changed


def compared(folder, baseline, found):
    for name, summary_ in (("baseline", baseline), ("found", found)):
        (folder / name).write_text(json.dumps(summary_))
    return run("--from", folder / "found", "--baseline", folder / "baseline")


@pytest.mark.parametrize(
    ("name", "variant", "figure", "factor"),
    [("W1", "defaults", "x_f1", 0.7), ("W2", "best", "wal_bytes", 1.3), ("W5", "1 KB", "of_plain_wal", 1.5)],
)
def test_what_got_slower_is_named(smoke, tmp_path, name, variant, figure, factor):
    before = on_a_quiet_machine(smoke[0])

    answer = compared(tmp_path, before, slowed(before, name, variant, figure, factor))

    assert answer.returncode == 1
    assert "1 figures are worse than the baseline:" in answer.stdout
    assert f"{name} {variant}: {figure} {medians(before, name, variant)[figure]:.3g} -> " in answer.stdout


def test_what_got_better_is_not_named(smoke, tmp_path):
    before = on_a_quiet_machine(smoke[0])
    better = slowed(slowed(before, "W1", "defaults", "x_f1", 1.5), "W1", "defaults", "wal_bytes", 0.5)

    answer = compared(tmp_path, before, better)

    assert answer.returncode == 0
    assert answer.stdout.endswith("\n0 figures are worse than the baseline.\n")


def test_a_shared_machine_is_told_and_hides_costs_no_more_than_it_must(smoke, tmp_path):
    before = on_a_quiet_machine(smoke[0])
    shared = slowed(slowed(before, "W1", "defaults", "x_f1", 0.5), "W1", "defaults", "rows_written", 1.2)
    shared["workloads"]["W1"]["variants"]["defaults"]["others_percent"] = {"median": 90, "min": 90, "max": 90}

    answer = compared(tmp_path, before, shared)

    assert answer.returncode == 1
    assert "costs compared, but no times, of: W1 defaults\n" in answer.stdout
    assert "W1 defaults: rows_written" in answer.stdout and "W1 defaults: x_f1" not in answer.stdout


def test_rounds_that_overlap_are_not_named():
    before = {"median": 10, "min": 6, "max": 12}

    assert compare.lower(before, {"median": 7, "min": 6, "max": 8}, 0.1) is None
    assert compare.lower(before, {"median": 5, "min": 4, "max": 5.5}, 0.1) == (10, 5, 0.5)
    assert compare.higher(before, {"median": 14, "min": 12, "max": 16}, 0.1) is None
    assert compare.higher(before, {"median": 15, "min": 13, "max": 16}, 0.1) == (10, 15, 0.5)


def test_runs_of_different_scale_do_not_compare(smoke):
    with pytest.raises(SystemExit, match="only the same compare"):
        compare.compare({**smoke[0], "scale": "full"}, smoke[0])


def test_a_median_is_of_the_ratios_and_not_the_ratio_of_medians():
    class Made(Workload):
        name = title = "made"
        reaches = (Reach("v", "x_f1", ">=", 2), Reach("absent", "x_f1", ">=", 2))

    def floors(single):
        return {"F1": {"rate": single, "pg_cpu_ms": 1}, "F100": {"rate": 10 * single, "pg_cpu_ms": 1}}

    rounds = [(floors(100), {"v": {"rate": 300}}), (floors(50), {"v": {"rate": 50}}), (floors(10), {"v": {"rate": 40}})]
    found = summary.summarise(Made(), rounds)

    assert found["variants"]["v"]["x_f1"] == {"median": 3, "min": 1, "max": 4}
    assert found["reaches"] == [
        {"variant": "v", "figure": "x_f1", "relation": ">=", "wanted": 2, "value": 3, "met": True}
    ]
    assert "reached: v x_f1 3 (wanted >= 2)" in report.workload_text("made", {**found, "floors": {}, "variants": {}})


def test_a_workload_that_is_not_there_is_refused_with_those_that_are():
    refused = run("--help", "--workload", "W99")
    assert refused.returncode == 0 and "W1, W2, W3" in refused.stdout

    refused = run("--from", HERE / "test_bench.py", "--workload", "W99")
    assert refused.returncode == 2
    assert "no workload W99; there are W1, W2, W3" in refused.stderr


def test_a_saved_run_that_is_not_there_is_refused_before_anything_is_measured():
    for option in ("--from", "--baseline"):
        refused = run("--from", HERE / "test_bench.py", option, "none.json")
        assert refused.returncode == 2
        assert "no saved run in none.json; --json FILE saves one" in refused.stderr
