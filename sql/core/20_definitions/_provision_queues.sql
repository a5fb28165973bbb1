-- Makes sure that queues exist with the kind wanted, for one flow: creates the
-- absent ones in PGMQ, adopts those named in adopt, heals those that were dropped
-- and made anew, refuses everything else.
--
-- queue_names    canonical or not, one kind for all of them
-- kind           flow, step (owned by flow_slug) or shared; a queue that this flow
--                owns already serves for any kind
-- adopt          queues that PGMQ has and this schema does not know may become
--                shared; their old messages are foreign
-- Two calls that make the same queue: the insert into queues makes the second
-- wait, names in order, and then finds it known.
-- Errors: 22023 bad name; 55000 private where shared is wanted or the other way
--         round, owned by another flow, unknown but existing, known but gone.
create function pgflow._provision_queues(
  queue_names text[],
  kind text,
  flow_slug text,
  adopt text[] default '{}'
)
returns void
language plpgsql
set search_path = ''
as $$
declare
  wanted text[];
  made text[];
begin
  select array_agg(distinct pgflow._canonical_queue(q.name) order by pgflow._canonical_queue(q.name))
  into wanted
  from unnest(queue_names) as q (name);

  with added as (
    insert into pgflow.queues as q (queue_name, kind, owner_flow_slug)
    select w.name, _provision_queues.kind,
           case when _provision_queues.kind <> 'shared' then _provision_queues.flow_slug end
    from unnest(wanted) as w (name)
    order by w.name
    on conflict on constraint queues_pkey do nothing
    returning q.queue_name
  )
  select array_agg(a.queue_name order by a.queue_name) into made from added a;

  perform pgflow._check_known_queues(wanted, kind, flow_slug, coalesce(made, '{}'));
  perform pgflow._check_unknown_queues(coalesce(made, '{}'), kind, adopt);

  perform pgmq.create(m.name)
  from unnest(made) as m (name)
  where not exists (select from pgmq.meta q where lower(q.queue_name) = m.name);
  perform pgflow._renew_queues(wanted);
  perform pgflow._watch_queues(wanted);
end
$$;
