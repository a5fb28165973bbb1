-- Fill a database of any release with rows of every status, as many as the settings say:
--   seed.runs       runs in all
--   seed.in_flight  of them: started, with tasks that a worker holds and tasks that wait
--   seed.stalled    of them: started, with a task that stalled for good: no message, never ended
--   seed.orphans    of them: failed, with a task that 0.14.1 left started; from 0.16.0 on it is cancelled
-- The flow Seed (its queue is listed in mixed case before 0.17): step a, then a map over its output, step b.
-- Beside it: a queue of the site's own with a message, and workers that live, have ended, are deprecated.
-- Foreign keys are not asked while rows come in (a superuser's setting); they hold, as the tests say.
do $$
declare
  runs bigint := current_setting('seed.runs');
  in_flight bigint := current_setting('seed.in_flight');
  stalled bigint := current_setting('seed.stalled');
  orphans bigint := current_setting('seed.orphans');
  has_queues boolean := exists (select from pg_attribute a where a.attrelid = 'pgflow.step_tasks'::regclass and a.attname = 'queue_name');
  has_cancelled boolean := to_regprocedure('pgflow.track_worker_function(text, text)') is not null;
  dropped text[];
  definitions text[];
  statement text;
begin
  perform pgflow.create_flow('Seed', max_attempts => 3, base_delay => 0, timeout => 60);
  perform pgflow.add_step('Seed', 'a');
  perform pgflow.add_step('Seed', 'b', array['a'], step_type => 'map', timeout => 90);
  perform pgmq.create('Site_Own');
  perform pgmq.send('Site_Own', '{"kept": true}');
  insert into pgflow.worker_functions (function_name, enabled) values ('seed-worker', true), ('seed-paused', false);
  insert into pgflow.workers (worker_id, queue_name, function_name, last_heartbeat_at, deprecated_at, stopped_at)
  values ('5eed0000-0000-4000-8000-000000000001', 'Seed', 'seed-worker', now(), null, null),
         ('5eed0000-0000-4000-8000-000000000002', 'Seed', 'seed-worker', now() - interval '1 day', null, now() - interval '1 day'),
         ('5eed0000-0000-4000-8000-000000000003', 'Seed', 'seed-worker', now() - interval '1 hour', now() - interval '1 hour', null);

  -- Indexes are built once, behind the rows.
  select array_agg(i.indexrelid::regclass::text), array_agg(pg_get_indexdef(i.indexrelid)) into dropped, definitions
  from pg_index i
  where i.indrelid in ('pgflow.runs'::regclass, 'pgflow.step_states'::regclass, 'pgflow.step_tasks'::regclass)
    and not exists (select from pg_constraint c where c.conindid = i.indexrelid);
  foreach statement in array dropped loop
    execute 'drop index ' || statement;
  end loop;
  set local session_replication_role = replica;
  create temporary table seeded on commit drop as
  select gen_random_uuid() as run_id, i,
         case when i <= in_flight then case i % 4 when 0 then 'a started' when 1 then 'a queued' else 'b started' end
              when i <= in_flight + stalled then 'stalled'
              when i <= in_flight + stalled + orphans then 'orphan'
              when i % 20 = 0 then 'failed'
              when i % 20 = 1 then 'b skipped'
              else 'completed' end as kind,
         now() - interval '40 seconds' - case when i <= in_flight then interval '0' else (i % 1000) * interval '1 hour' end as at
  from generate_series(1, runs) i;

  insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at, failed_at)
  select s.run_id, 'Seed', case when s.kind in ('completed', 'b skipped') then 'completed'
                                when s.kind in ('failed', 'orphan') then 'failed' else 'started' end,
         jsonb_build_object('n', s.i), case when s.kind = 'completed' then '{"b": [1, 2]}' when s.kind = 'b skipped' then '{}' end::jsonb,
         case when s.kind in ('completed', 'b skipped') then 0 when s.kind in ('b started', 'orphan') then 1 else 2 end, s.at,
         case when s.kind in ('completed', 'b skipped') then s.at + interval '9 seconds' end,
         case when s.kind in ('failed', 'orphan') then s.at + interval '9 seconds' end
  from seeded s;

  insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, remaining_deps, initial_tasks, created_at,
                                  started_at, completed_at, failed_at, error_message, output, skip_reason, skipped_at)
  select 'Seed', s.run_id, 'a', v.status, (v.status <> 'completed')::integer, 0, 1, s.at, s.at,
         case when v.status = 'completed' then s.at + interval '3 seconds' end,
         case when v.status = 'failed' then s.at + interval '3 seconds' end, case when v.status = 'failed' then 'no' end,
         case when v.status = 'completed' then '[1, 2]'::jsonb end, null, null
  from seeded s cross join lateral (select case when s.kind in ('a started', 'a queued', 'stalled') then 'started'
                                                when s.kind = 'failed' then 'failed' else 'completed' end as status) v
  union all
  select 'Seed', s.run_id, 'b', v.status,
         case v.status when 'completed' then 0 when 'started' then 2 when 'failed' then 2 end,
         (v.status = 'created')::integer, case when v.status not in ('created', 'skipped') then 2 end, s.at,
         case when v.status not in ('created', 'skipped') then s.at + interval '3 seconds' end,
         case when v.status = 'completed' then s.at + interval '9 seconds' end,
         case when v.status = 'failed' then s.at + interval '9 seconds' end, case when v.status = 'failed' then 'no' end,
         case when v.status = 'completed' then '[1, 2]'::jsonb end, case when v.status = 'skipped' then 'condition_unmet' end,
         case when v.status = 'skipped' then s.at + interval '3 seconds' end
  from seeded s cross join lateral (select case s.kind when 'completed' then 'completed' when 'b skipped' then 'skipped'
                                                when 'b started' then 'started' when 'orphan' then 'failed' else 'created' end as status) v;

  create temporary table seeded_task on commit drop as
  select row_number() over () as message_id, s.run_id, s.at, t.step, t.index,
         case t.status when 'orphan' then case when has_cancelled then 'cancelled' else 'started' end
                       when 'stalled' then 'started' else t.status end as status,
         t.status in ('queued', 'started') as has_message, t.status = 'stalled' as stalled
  from seeded s
  cross join lateral (values
    ('a', 0, case s.kind when 'a started' then 'started' when 'a queued' then 'queued' when 'stalled' then 'stalled'
                         when 'failed' then 'failed' else 'completed' end),
    ('b', 0, case s.kind when 'b started' then 'started' when 'completed' then 'completed' when 'orphan' then 'failed' end),
    ('b', 1, case s.kind when 'b started' then 'queued' when 'completed' then 'completed' when 'orphan' then 'orphan' end))
    t(step, index, status)
  where t.status is not null;

  execute format(
    'insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, status, attempts_count, output,
       error_message, queued_at, started_at, completed_at, failed_at, last_worker_id, requeued_count, last_requeued_at,
       permanently_stalled_at %s)
     select ''Seed'', t.run_id, t.step, t.index, t.message_id, t.status, (t.status <> ''queued'')::integer,
       case when t.status = ''completed'' then case t.step when ''a'' then ''[1, 2]'' else to_jsonb(t.index + 1) end end,
       case when t.status = ''failed'' then ''no'' end, t.at,
       case when t.status <> ''queued'' then t.at + interval ''1 second'' end,
       case when t.status = ''completed'' then t.at + interval ''2 seconds'' end,
       case when t.status = ''failed'' then t.at + interval ''2 seconds'' end,
       case when t.status <> ''queued'' then ''5eed0000-0000-4000-8000-000000000001''::uuid end,
       case when t.stalled then 3 else 0 end, case when t.stalled then t.at end, case when t.stalled then now() end %s
     from seeded_task t',
    case when has_queues then ', queue_name' end, case when has_queues then ', ''seed''' end);
  insert into pgmq.q_seed (msg_id, read_ct, enqueued_at, vt, message) overriding system value
  select t.message_id, (t.status = 'started')::integer, t.at,
         case when t.status = 'started' then t.at + case t.step when 'a' then interval '63 seconds' else interval '93 seconds' end else t.at end,
         jsonb_build_object('flow_slug', 'Seed', 'run_id', t.run_id, 'step_slug', t.step, 'task_index', t.index)
  from seeded_task t where t.has_message;
  foreach statement in array definitions loop
    execute statement;
  end loop;
  perform setval(pg_get_serial_sequence('pgmq.q_seed', 'msg_id'), (select max(t.message_id) from seeded_task t));
end
$$;
