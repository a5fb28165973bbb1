"""Databases of pgflow itself, as its releases make them (tests/support/pgflow): for what adopts or inspects one."""

import contextlib

from .database import Database
from .paths import SOURCE
import cluster

FOLDER = SOURCE / "tests" / "support" / "pgflow"
RELEASES = ("0.14.1", "0.16.0", "0.17.1")

CATALOGUE = """
    select format('column %s %s %s %s%s%s', c.oid::regclass, row_number() over (partition by c.oid order by a.attnum), a.attname,
                  format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
                  ' default ' || pg_get_expr(d.adbin, d.adrelid))
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace::regnamespace::text like 'pgflow%' and c.relkind = 'r'
    union all
    select format('constraint %s %s %s', c.conrelid::regclass, c.conname, regexp_replace(pg_get_constraintdef(c.oid), '\\s+', ' ', 'g'))
    from pg_constraint c where c.connamespace::regnamespace::text like 'pgflow%' and c.contype <> 'n'
    union all
    select format('index %s', pg_get_indexdef(i.indexrelid))
    from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace::regnamespace::text like 'pgflow%'
    union all
    select format('function %s.%s(%s) returns %s %s %s %s%s%s', p.pronamespace::regnamespace, p.proname,
                  pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname, p.provolatile, p.proparallel,
                  case when p.prosecdef then ' definer' else '' end,
                  (select string_agg(' set ' || s, '') from unnest(p.proconfig) s))
           || case when p.proacl is null then '' else ' acl ' || p.proacl::text end
    from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace::regnamespace::text like 'pgflow%'
    union all
    select format('type %s (%s)', t.oid::regtype, (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
                  order by a.attnum) from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0))
    from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c' where t.typnamespace = 'pgflow'::regnamespace
    union all
    select format('job %s %s %s', j.jobname, j.schedule, j.command) from cron.job j where j.jobname like 'pgflow%'
    union all
    select format('trigger %s on %s', t.tgname, t.tgrelid::regclass) from pg_trigger t
    where not t.tgisinternal and t.tgrelid in (select c.oid from pg_class c where c.relnamespace = 'pgflow'::regnamespace)"""


def of_release(release):
    return sorted((FOLDER / release).glob("*.sql"))


def files(release):
    """What makes a database of that release, in order: an empty one, then each upgrade."""
    upgrades = RELEASES[:RELEASES.index(release) + 1]
    return [*sorted((SOURCE / "sql" / "queue").glob("*.sql")), FOLDER / "platform.sql",
            *(file for r in upgrades for file in of_release(r))]


def upgrade(database, release):
    """From the release before, as pgflow's own migrations would."""
    cluster.load(database.name, *of_release(release))


@contextlib.contextmanager
def pgflow_database(release):
    made = Database(template="template0")
    try:
        cluster.load(made.name, *files(release))
        yield made
    finally:
        made.close()


def catalogue(database):
    """One line an object; two databases are compared by the sets."""
    database.rows("set search_path = pg_catalog")
    return {line for line, in database.rows(CATALOGUE)}


def expected(release):
    """The lines of a real installation (expected.txt), for one release."""
    at = RELEASES.index(release)
    holds = {"all": lambda _: True, "-0.16.0": lambda i: i <= 1, "0.16.0-": lambda i: i >= 1}
    lines = [line.rstrip("\n").split(" ", 1) for line in open(FOLDER / "expected.txt") if not line.startswith("#")]
    return {text for tag, text in lines if holds.get(tag, lambda i: RELEASES[i] == tag)(at)}


def seed(database, runs, in_flight=0, stalled=0, orphans=0):
    """Rows of every status (seed.sql says which), by generate_series; for millions too."""
    for name, value in (("runs", runs), ("in_flight", in_flight), ("stalled", stalled), ("orphans", orphans)):
        database.rows("select set_config('seed.' || %s, %s, false)", name, str(value))
    database.rows((FOLDER / "seed.sql").read_text())


def fingerprints(database):
    """The hash of each function's body: runs of white space are one space, the ends are trimmed; then SHA-256 of UTF-8."""
    return dict(database.rows("""
        select format('%s.%s(%s)', p.pronamespace::regnamespace, p.proname, pg_get_function_identity_arguments(p.oid)),
               encode(sha256(convert_to(btrim(regexp_replace(p.prosrc, '\\s+', ' ', 'g')), 'UTF8')), 'hex')
        from pg_proc p where p.pronamespace::regnamespace::text in ('pgflow', 'pgflow_telemetry')"""))
