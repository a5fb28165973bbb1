"""W3: one root map over many elements: the cost of a task must not grow with the array."""

from .cold import cold_and_warm
from .drain import check_done, drain
from .workload import Reach, Workload

LARGE = "1 KB"
START = "select count(*) from pgflow.start_flow('bench_each', ({}))"
SMALL_ARRAY = "select jsonb_agg(n) from generate_series(1, %s) n"
# Thirty different hashes: nothing that compression could make small again.
LARGE_ARRAY = """
select jsonb_agg(jsonb_build_object('n', n, 'pad',
         (select string_agg(md5(n || '/' || k), '') from generate_series(1, 30) k)))
from generate_series(1, %s) n
"""


class RootMap(Workload):
    name, title = "W3", "one root map over n elements"
    reaches = [
        Reach("slowest", "x_f1", ">=", 3.5),
        Reach("slowest", "of_fastest", ">=", 0.8),
        Reach(LARGE, "x_f1", ">=", 2.2),
        Reach("cold", "of_warm", ">=", 0.8),
    ]

    def round(self, bench):
        sizes = bench.size["w3_elements"]
        small = {f"n={count}": self.drain(bench, count, SMALL_ARRAY) for count in sizes}
        slowest = dict(min(small.values(), key=lambda figures: figures["rate"]))
        slowest["of_fastest"] = slowest["rate"] / max(figures["rate"] for figures in small.values())
        middle = sizes[len(sizes) // 2]
        return {**small, LARGE: self.drain(bench, bench.size["w3_large"], LARGE_ARRAY), "slowest": slowest,
                **cold_and_warm(bench, "bench_each", middle, START.format(SMALL_ARRAY), middle)}

    def drain(self, bench, count, array):
        with bench.database("bench_each") as database:
            database.rows(START.format(array), count)
            figures = drain(bench, database, "bench_each", bench.modules("bench_each"))
            check_done(database, "bench_each", count)
        return figures
