-- Why nothing can be written here; null: it can. It writes a megabyte to a table of its own and takes it back, because
-- a full volume lets many small changes pass that fit into pages there are, and no claim that needs another.
-- Locks: none that others would wait for.
create function pgflow.storage_problem()
returns text
language plpgsql
security definer
set search_path = ''
as $$
begin
  execute format(
    'create table pgflow.%I as select md5(n::text) as noise from generate_series(1, 16384) n',
    'storage_probe_' || pg_backend_pid());
  raise exception 'taken back' using errcode = 'PF001';
exception
  when sqlstate 'PF001' then
    return null;
  when others then
    return format('%s (%s)', sqlerrm, sqlstate);
end
$$;
