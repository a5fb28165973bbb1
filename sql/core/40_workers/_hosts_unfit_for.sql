-- The hosts that are not gone and cannot serve a schema of that version, by what they announced at registration
-- (info.schema: {oldest, newest}). A host that announces none is one of version 1; workers that are no hosts of this
-- project (their info names no program's version) call what every version has, and are left out.
-- Locks: none.
create function pgflow._hosts_unfit_for(schema_version int)
returns table (function_name text, host text, pid text, program text, oldest numeric, newest numeric)
language sql
stable
set search_path = ''
as $$
  select w.function_name, w.info ->> 'host', w.info ->> 'pid', w.info ->> 'version', s.oldest, s.newest
  from pgflow.workers w,
       lateral (
         select pgflow._announced_version(w.info, 'oldest'), pgflow._announced_version(w.info, 'newest')
       ) as s (oldest, newest)
  where w.stopped_at is null
    and not pgflow._is_gone(w)
    and w.info ? 'version'
    and schema_version not between s.oldest and s.newest
  order by w.function_name, 2, 3
$$;
