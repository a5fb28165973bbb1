-- Raises 55000 when a queue that this call is about to make exists in PGMQ
-- already and may not be adopted: its messages belong to somebody else. Names
-- that differ only by case share their tables, so PGMQ must not have two.
create function pgflow._check_unknown_queues(queue_names text[], kind text, adopt text[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  bad record;
begin
  select lower(m.queue_name) as name, count(*) as spellings,
         string_agg(format('"%s"', m.queue_name), ', ' order by m.queue_name) as shown
  into bad
  from pgmq.meta m
  where lower(m.queue_name) = any (queue_names)
  group by lower(m.queue_name)
  having count(*) > 1
      or kind <> 'shared'
      or lower(m.queue_name) <> all (
           coalesce((select array_agg(lower(a.name)) from unnest(adopt) as a (name)), '{}'))
  order by 1
  limit 1;

  if bad.spellings > 1 then
    raise exception 'PGMQ has queues that differ only by case: %', bad.shown
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'They share their tables. Drop all but one.';
  elsif kind <> 'shared' and found then
    raise exception 'queue "%" exists in PGMQ and cannot become a private queue', bad.name
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Use another slug, or drop that queue, or adopt it as shared and route the steps to it by name.';
  elsif found then
    raise exception 'queue "%" exists in PGMQ and is unknown to pgflow', bad.name
      using errcode = 'object_not_in_prerequisite_state',
            detail = 'Somebody else may be sending to it or reading from it.',
            hint = format('Name it in adopt (pgflow-host --adopt-queue %s) to take it over as shared; its old '
                          'messages stay and are reported as foreign.', bad.name);
  end if;
end
$$;
