-- The one row of rollout_progress for a deployment that nobody goes on with; no row:
-- somebody does.
-- Locks: none.
create function pgflow._ended_rollout(loaded pgflow.deployment_manifest)
returns table (step int, name text, state text, waits_for text[], notes text[])
language plpgsql
stable
set search_path = ''
as $$
declare
  taken text[];
begin
  if loaded.closed_at is not null then
    return query select 0, 'end', case when loaded.was_aborted then 'aborted' else 'closed' end,
                        array(select * from pgflow._ended(loaded)), '{}'::text[];
  elsif loaded.aborting_at is not null then
    return query select 0, 'abort', 'aborting', array(select * from pgflow._abort_waits(loaded)), '{}'::text[];
  elsif not exists (select from pgflow._own_entries(loaded)) then
    taken := array(
      select format('deployment "%s" took over function "%s" at %s', t.deployment, t.function_name, t.fenced_at)
      from pgflow._taken_over(loaded) as t
      order by t.fenced_at, t.function_name);
    return query select 0, 'end', 'superseded', '{}'::text[], taken;
  end if;
end
$$;
