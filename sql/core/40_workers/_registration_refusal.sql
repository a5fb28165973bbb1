-- Why a working worker of this function may not register for this queue: disabled
-- | other_queue; null: it may. Takes the function row's lock first, so that what
-- it sees stays true until the registration commits.
-- Locks: the function row.
create function pgflow._registration_refusal(
  worker_id uuid, queue_name text, function_name text, predecessor uuid)
returns text
language plpgsql
set search_path = ''
as $$
declare
  enabled boolean;
begin
  select f.enabled into enabled
  from pgflow.worker_functions f
  where f.function_name = $3
  for no key update;
  if not enabled then
    return 'disabled';
  end if;

  if exists (
    select
    from pgflow.workers w
    where w.function_name = $3
      and w.stopped_at is null
      and not w.standby
      and lower(w.queue_name) <> lower($2)
      and w.worker_id <> $1
      and w.worker_id is distinct from $4
      and pgflow._is_live(w)
  ) then
    return 'other_queue';
  end if;
  return null;
end
$$;
