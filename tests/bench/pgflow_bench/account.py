"""Where the time of a task goes inside PostgreSQL, function by function: --account.

The server's own count of function times (track_functions) costs something itself, so a run with an
account is for the shares in it, not for rates.
"""

LEAST_SHARE = 0.005  # of all time, with what it calls; what is below is start-up, or noise

FUNCTIONS = """
select schemaname || '.' || funcname as name, calls, total_time, self_time
from pg_stat_user_functions
order by self_time desc
"""


def switch_on(database):
    database.rows(f"alter database {database.name} set track_functions = 'all'")
    database.rows("select pg_stat_reset()")


def read(database, tasks):
    """[(function, calls, total us, self us)], each per task, the most expensive first."""
    return [
        {
            "function": row.name,
            "calls": row.calls / tasks,
            "total_us": 1000 * row.total_time / tasks,
            "self_us": 1000 * row.self_time / tasks,
        }
        for row in database.rows(FUNCTIONS)
    ]


def text(title, functions):
    whole = sum(function["self_us"] for function in functions) or 1
    lines = [f"{title}: time in functions, us per task (elapsed, so with waiting; commits are not in it)"]
    lines.append(f"  {'function':44} {'calls':>8} {'total':>9} {'self':>9} {'share':>6}")
    for function in (function for function in functions if function["total_us"] >= LEAST_SHARE * whole):
        lines.append(
            f"  {function['function']:44} {function['calls']:8.3f} {function['total_us']:9.1f}"
            f" {function['self_us']:9.1f} {100 * function['self_us'] / whole:5.1f}%"
        )
    return "\n".join([*lines, ""])
