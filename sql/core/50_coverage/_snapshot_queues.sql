-- The queues of a snapshot: [{queue, kind, owner, spellings}], by name; a queue of PGMQ
-- that this schema does not know has kind null. spellings: the names in PGMQ that are this one
-- but for their case; 0: somebody dropped it.
create function pgflow._snapshot_queues()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'queue', coalesce(q.queue_name, m.queue_name), 'kind', q.kind, 'owner', q.owner_flow_slug,
      'spellings', coalesce(m.spellings, 0))
    order by coalesce(q.queue_name, m.queue_name)), '[]')
  from pgflow.queues q
  full join (
    select lower(p.queue_name) as queue_name, count(*) as spellings from pgmq.meta p group by lower(p.queue_name)
  ) m on m.queue_name = q.queue_name
$$;
