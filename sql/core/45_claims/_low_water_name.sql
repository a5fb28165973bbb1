-- The setting that keeps a session's low-water mark (_low_water). Names of settings have fewer letters than names of queues.
-- subject: what index of which queue.
create function pgflow._low_water_name(subject text)
returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  return 'pgflow.mark_' || md5(subject);
end
$$;
