-- The claim's third statement: what becomes of each message of the batch. It
-- changes nothing. Its snapshot is younger than the locks of the second one, so
-- a locked task is seen as it stays; run and step need no lock, because whoever
-- ends them ends their tasks in the same transaction and would wait for us.
--
-- batch      the messages taken        locked_ids  those whose task is locked by us
-- supported  pairs this worker runs    held        pairs of these it cannot run now
-- A busy task that is locked elsewhere, or whose message is, has no visible_at.
-- Returns one item a message, in order, with its outcome, tested in the order
-- foreign, stale, busy, unsupported, held, started. The durable pair (queue,
-- message id) decides; a body that says otherwise is only reported.
-- The laterals with limit 1 are what keeps the plan one index lookup a message:
-- without them a plan made on small tables joins whole tables, and is kept.
-- Locks: none.
create function pgflow._classify_messages(
  queue_name text, batch pgflow._message_batch, locked_ids bigint[],
  supported pgflow.task_pair[], held pgflow.task_pair[])
returns pgflow._claim_item[]
language plpgsql
set search_path = ''
-- planner: loops
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  return array(
    with message as (
      select m.place::int, m.msg_id, m.read_ct, m.body, m.present, m.due_at
      from unnest(batch.msg_ids, batch.read_cts, batch.bodies, batch.present, batch.due_ats)
             with ordinality as m(msg_id, read_ct, body, present, due_at, place)
    ), looked_up as materialized (
      select
        m.place, m.msg_id, m.read_ct, m.body, m.present, m.due_at, t.flow_slug, t.run_id, t.step_slug,
        t.task_index, t.attempts_count, t.claim_no, t.recover_at, s.deps_count, s.step_type,
        s.wants_flow_input,
        coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts,
        coalesce(s.opt_timeout, f.opt_timeout) as timeout,
        m.present and t.message_id = any (locked_ids) as is_ours,
        case
          when t.run_id is null then 'foreign'
          when t.status not in ('queued', 'started')
            or ss.status in ('completed', 'failed', 'skipped')
            or r.status <> 'started' then 'stale'
          when t.status = 'started' or not m.present
            or not t.message_id = any (locked_ids) then 'busy'
          when ((t.flow_slug, t.step_slug) in (
            select p.flow_slug, p.step_slug from unnest(supported) p)) is not true then 'unsupported'
          when (t.flow_slug, t.step_slug) in (
            select h.flow_slug, h.step_slug from unnest(held) h) then 'held'
          else 'started'
        end as outcome
      from message m
      left join lateral (
        select x.flow_slug, x.run_id, x.step_slug, x.task_index, x.message_id, x.status,
               x.attempts_count, x.claim_no, x.recover_at
        from pgflow.step_tasks x
        where x.queue_name = lower($1) and x.message_id = m.msg_id
        limit 1) t on true
      left join lateral (
        select x.status from pgflow.runs x where x.run_id = t.run_id
        limit 1) r on true
      left join lateral (
        select x.status from pgflow.step_states x
        where x.run_id = t.run_id and x.step_slug = t.step_slug
        limit 1) ss on true
      left join lateral (
        select x.deps_count, x.step_type, x.wants_flow_input, x.opt_max_attempts, x.opt_timeout
        from pgflow.steps x
        where x.flow_slug = t.flow_slug and x.step_slug = t.step_slug
        limit 1) s on true
      left join lateral (
        select x.opt_max_attempts, x.opt_timeout from pgflow.flows x where x.flow_slug = t.flow_slug
        limit 1) f on true
    )
    select row(
      l.place, l.msg_id, l.read_ct, l.present, l.outcome,
      case when l.outcome = 'busy' then
        case when l.is_ours then 'running' else 'locked' end
      end,
      l.flow_slug, l.run_id, l.step_slug, l.task_index,
      case when l.outcome = 'started' then l.attempts_count + 1 end,
      l.max_attempts,
      case when l.outcome = 'started' then l.claim_no + 1 end,
      l.timeout,
      l.outcome <> 'foreign' and coalesce(l.present, false) and (
        l.body ->> 'run_id' is distinct from l.run_id::text
        or l.body ->> 'step_slug' is distinct from l.step_slug
        or l.body ->> 'task_index' is distinct from l.task_index::text
        or l.body ->> 'flow_slug' is distinct from l.flow_slug),
      case
        when l.outcome = 'busy' and l.is_ours then
          ceil(extract(epoch from l.recover_at - moment) * 1000)::bigint
        when l.outcome = 'started' and isfinite(l.due_at) then
          least(ceil(extract(epoch from l.due_at - moment) * 1000)::bigint, 0)
      end,
      case l.outcome
        when 'started' then moment + make_interval(secs => l.timeout + 2)
        when 'busy' then
          case when l.is_ours then greatest(l.recover_at, moment + interval '5 seconds') end
        when 'held' then moment + interval '10 seconds'
        when 'foreign' then
          moment + least(greatest(l.read_ct, 1) * interval '10 minutes', interval '1 day')
      end,
      l.deps_count = 0, l.step_type = 'map', l.wants_flow_input
    )::pgflow._claim_item
    from looked_up l
    order by l.place
  );
end
$$;
