-- Payload columns use lz4 on a server that has it, and whatever the server has by default elsewhere.
begin;
select plan(1);

select is(
  (select array_agg(format('%s.%s', c.relname, a.attname) order by c.relname, a.attname)
   from pg_attribute a
   join pg_class c on c.oid = a.attrelid
   where c.relnamespace = 'pgflow'::regnamespace and c.relname in ('runs', 'step_states', 'step_tasks')
     and a.attcompression = 'l'),
  (select case when 'lz4' = any (s.enumvals)
               then array['runs.input', 'runs.output', 'step_states.output', 'step_tasks.input', 'step_tasks.output'] end
   from pg_settings s
   where s.name = 'default_toast_compression'),
  'every payload of runs, steps and tasks');

select * from finish();
rollback;
