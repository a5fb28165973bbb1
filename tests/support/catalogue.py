"""What the schemas pgflow and pgmq are made of, as text that two databases can be compared by: no oids, no numbers of
columns that were dropped. One reader; the tests of migrations and of what may be mixed build on it."""

SCHEMAS = "('pgflow', 'pgmq')"

# Null means the default rights; spelled out, and in one order.
RIGHTS = """(select array_agg(a::text order by a::text) from unnest(coalesce({acl}, acldefault('{kind}', {owner}))) a)"""

QUERIES = {
    "schema": f"""
        select n.nspname, obj_description(n.oid, 'pg_namespace'), {RIGHTS.format(acl='n.nspacl', kind='n', owner='n.nspowner')}
        from pg_namespace n where n.nspname in {SCHEMAS}""",
    "function": f"""
        select p.oid::regprocedure::text, pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'),
               p.proowner::regrole::text, {RIGHTS.format(acl='p.proacl', kind='f', owner='p.proowner')}
        from pg_proc p where p.pronamespace::regnamespace::text in {SCHEMAS}""",
    "relation": f"""
        select c.oid::regclass::text, c.relkind::text, c.relpersistence::text, c.relreplident::text,
               c.relrowsecurity, c.reloptions, (select t.reloptions from pg_class t where t.oid = c.reltoastrelid),
               obj_description(c.oid, 'pg_class'), {RIGHTS.format(acl='c.relacl', kind='r', owner='c.relowner')},
               case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end
        from pg_class c
        where c.relnamespace::regnamespace::text in {SCHEMAS} and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')""",
    "column": f"""
        select c.oid::regclass::text, a.attname, row_number() over (partition by c.oid order by a.attnum),
               format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity::text,
               a.attgenerated::text, a.attcompression::text, a.attstorage::text, a.attcollation::regcollation::text,
               col_description(c.oid, a.attnum), a.attacl::text
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
             left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where c.relnamespace::regnamespace::text in {SCHEMAS} and c.relkind in ('r', 'p', 'v', 'm', 'c')""",
    "constraint": f"""
        select c.conrelid::regclass::text, c.conname, pg_get_constraintdef(c.oid), c.convalidated,
               obj_description(c.oid, 'pg_constraint')
        from pg_constraint c where c.connamespace::regnamespace::text in {SCHEMAS}""",
    "index": f"""
        select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisreplident, c.reloptions,
               obj_description(i.indexrelid, 'pg_class')
        from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relnamespace::regnamespace::text in {SCHEMAS}""",
    "trigger": f"""
        select t.tgrelid::regclass::text, t.tgname, pg_get_triggerdef(t.oid), t.tgenabled::text
        from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace::regnamespace::text in {SCHEMAS} and not t.tgisinternal""",
    "policy": f"""
        select p.schemaname, p.tablename, p.policyname, p.roles::text, p.cmd, p.qual, p.with_check
        from pg_policies p where p.schemaname in {SCHEMAS}""",
    "type": f"""
        select t.oid::regtype::text, t.typtype::text, obj_description(t.oid, 'pg_type'),
               {RIGHTS.format(acl='t.typacl', kind='T', owner='t.typowner')},
               (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
               case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) end
        from pg_type t left join pg_class c on c.oid = t.typrelid
        where t.typnamespace::regnamespace::text in {SCHEMAS} and t.typtype in ('c', 'e', 'd')
          and coalesce(c.relkind, 'c') = 'c'""",
}


def read(run):
    """`run` gives the rows of a statement. Gives a set of lines; each begins with what it tells of."""
    run("set search_path = pg_catalog")
    return {f"{kind}: " + " | ".join("-" if value is None else str(value) for value in row)
            for kind, query in QUERIES.items() for row in run(query)}
