-- Says that a host cannot start because its queue needs steps that its modules do not
-- have. True: an earlier start of the same function, queue and modules said so before, and
-- none came through since. The host ends the first time, and stands by the next.
-- info: as for register_worker; its modules count.
-- Locks: the row of the gap.
create function pgflow.note_coverage_gap(function_name text, queue_name text, info jsonb)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  digest text := pgflow._modules_digest(info);
begin
  update pgflow.coverage_gaps g
  set last_noted_at = greatest(clock_timestamp(), g.last_noted_at)
  where g.function_name = $1 and g.queue_name = lower($2) and g.modules_digest = digest;
  if found then
    return true;
  end if;
  insert into pgflow.coverage_gaps (function_name, queue_name, modules_digest)
  values ($1, lower($2), digest)
  on conflict on constraint coverage_gaps_pkey do nothing;
  return not found;
end
$$;
