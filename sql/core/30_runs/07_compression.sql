-- Payloads are compressed by lz4 where the server was built with it (Debian's and the official packages are): an output
-- is stored with its task, its step and its run, and pglz takes ten times as long for each.
do $$
declare
  payload record;
begin
  if not exists (
    select from pg_catalog.pg_settings s
    where s.name = 'default_toast_compression' and 'lz4' = any (s.enumvals)
  ) then
    return;
  end if;

  for payload in
    values ('runs', 'input'), ('runs', 'output'), ('step_states', 'output'),
           ('step_tasks', 'input'), ('step_tasks', 'output')
  loop
    execute format('alter table pgflow.%I alter column %I set compression lz4', payload.column1, payload.column2);
  end loop;
end
$$;
