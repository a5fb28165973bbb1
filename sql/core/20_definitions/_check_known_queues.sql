-- Raises 55000 when a queue that was known before this call cannot serve: it is
-- private to another flow, shared where a private one is wanted, or PGMQ no
-- longer lists it (its messages are lost; making it anew would hide that).
-- just_made: rows of this call, not looked at.
create function pgflow._check_known_queues(
  queue_names text[],
  kind text,
  flow_slug text,
  just_made text[]
)
returns void
language plpgsql
set search_path = ''
as $$
declare
  bad record;
begin
  select q.queue_name, q.kind, q.owner_flow_slug,
         not exists (select from pgmq.meta m where lower(m.queue_name) = q.queue_name) as is_gone
  into bad
  from pgflow.queues q
  where q.queue_name = any (queue_names)
    and q.queue_name <> all (just_made)
    and ((q.kind <> _check_known_queues.kind or q.owner_flow_slug <> _check_known_queues.flow_slug)
           and q.owner_flow_slug is distinct from _check_known_queues.flow_slug
         or not exists (select from pgmq.meta m where lower(m.queue_name) = q.queue_name))
  order by q.queue_name
  limit 1;

  if bad.is_gone then
    raise exception 'queue "%" is known to pgflow.queues, but PGMQ no longer lists it', bad.queue_name
      using errcode = 'object_not_in_prerequisite_state',
            detail = 'Somebody dropped it; the messages of its queued tasks are gone with it.',
            hint = format('Restore it, or make it anew: select pgmq.create(%L). The messages of its queued tasks are '
                          'then sent again.', bad.queue_name);
  elsif bad.kind = 'shared' then
    raise exception 'queue "%" is shared and cannot become private to flow "%"', bad.queue_name, flow_slug
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Use another slug, or route the steps to that queue by name.';
  elsif found then
    raise exception 'queue "%" is private to flow "%" and cannot serve flow "%"',
        bad.queue_name, bad.owner_flow_slug, flow_slug
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'A private queue never becomes shared: use another queue name or flow slug.';
  end if;
end
$$;
