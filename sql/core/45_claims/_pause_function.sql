-- Pauses the function of a worker that read unsupported work, where it is
-- enabled: enabled = false, paused_at, pause_reason {queue, messageIds, pairs:
-- [{flowSlug, stepSlug}], workerId, info}. A function that is disabled already
-- keeps the word of whoever did it; one without a row gets a paused one, so that
-- a restarted host stands by in any case.
-- Locks: the function row.
create function pgflow._pause_function(
  queue_name text, items pgflow._claim_item[], worker_id uuid)
returns void
language sql
set search_path = ''
as $$
  with unsupported as (
    select i.msg_id, i.flow_slug, i.step_slug
    from unnest(items) i
    where i.outcome = 'unsupported'
  ), reason as (
    select jsonb_build_object(
      'queue', lower($1),
      'messageIds', (select jsonb_agg(u.msg_id order by u.msg_id) from unsupported u),
      'pairs', (
        select jsonb_agg(jsonb_build_object('flowSlug', p.flow_slug, 'stepSlug', p.step_slug)
                         order by p.flow_slug, p.step_slug)
        from (select distinct u.flow_slug, u.step_slug from unsupported u) p),
      'workerId', w.worker_id,
      'info', w.info) as reason, w.function_name
    from pgflow.workers w
    where w.worker_id = $3
  )
  insert into pgflow.worker_functions as f
    (function_name, enabled, start_mode, paused_at, pause_reason)
  select r.function_name, false, 'process', clock_timestamp(), r.reason
  from reason r
  on conflict (function_name) do update
  set enabled = false,
      -- Not before the fence that touched the row last: apply_manifest asks which came later.
      paused_at = greatest(excluded.paused_at, f.updated_at),
      pause_reason = excluded.pause_reason,
      updated_at = greatest(excluded.paused_at, f.updated_at)
  where f.enabled
$$;
