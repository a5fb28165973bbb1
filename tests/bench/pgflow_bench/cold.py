"""A burst that comes to hosts at rest, in a database that nobody ever analyzed; and the same work analyzed before.

The hosts have made their plans while every table was empty: what they do to the burst must not depend on that.
"""

from .drain import Burst, check_done, drain

TABLES = "select c.oid::regclass::text as name from pg_class c where c.relkind = 'r' and c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)"
ANALYZED = "select count(*) from pg_stat_user_tables where last_analyze is not null or last_autoanalyze is not null"


def cold_and_warm(bench, module, tasks, statement, *values):
    """Figures of both; `of_warm` is the rate of the cold one over that of the other."""
    with bench.database(module) as database:
        for table in database.rows(TABLES):
            database.rows(f"alter table {table.name} set (autovacuum_enabled = off)")
        cold = drain(bench, database, module, bench.modules(module), gate=Burst(database, statement, *values))
        check_done(database, module, tasks)
        assert database.value(ANALYZED) == 0, "somebody analyzed a table meanwhile"
    with bench.database(module) as database:
        database.rows(statement, *values)
        for table in database.rows(TABLES):
            database.rows(f"vacuum (analyze) {table.name}")
        warm = drain(bench, database, module, bench.modules(module))
        check_done(database, module, tasks)
    cold["of_warm"] = cold["rate"] / warm["rate"]
    return {"cold": cold, "warm": warm}
