-- Starts a run of a flow, named by alias or concrete slug, and returns it: run, step states, conditions and maps of
-- the ready steps, tasks and messages, all in this transaction. A run with nothing to do comes back completed.
-- run_id: the caller's own id, for starts that must not happen twice; it is an error when that run exists.
-- Locks: the flow's row for key share. Errors: unknown or retired flow, null input, a root map without an array,
-- unique_violation for a repeated run_id.
create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  new_id uuid := coalesce(run_id, pgflow._new_run_id());
begin
  if run_id is not null and exists (select from pgflow.runs r where r.run_id = start_flow.run_id) then
    raise exception 'run % exists already', run_id
      using errcode = 'unique_violation', hint = 'Give another run_id, or none to have one made.';
  end if;

  perform pgflow._start_runs(flow_slug, array[new_id], array[input]);
  return query select r.* from pgflow.runs r where r.run_id = new_id;
end
$$;

-- The same with options. idempotencyKey: the same key on one alias, while its run is kept, is the same start. The run that
-- exists is returned, of whatever status, and nothing is started; two starts at once make one run. Another input under a
-- used key is an error. A concrete slug uses the alias of its flow.
--
-- run_id    null: one is made
-- options   null, or {"idempotencyKey": text}
-- Locks: the flow's row for key share, the key's row. Errors: also 22023 an unknown option, or a key that is empty or
-- longer than 255 characters; 23505 a key that was used with another input.
create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid, options jsonb)
returns setof pgflow.started_run
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  new_id uuid := coalesce(run_id, pgflow._new_run_id());
  holder uuid := new_id;
begin
  perform pgflow._check_start_options(options);
  if jsonb_typeof(options -> 'idempotencyKey') not in ('string', 'null') then
    raise exception 'idempotencyKey is of type %', jsonb_typeof(options -> 'idempotencyKey')
      using errcode = 'invalid_parameter_value', hint = 'Give a text.';
  end if;
  if options ->> 'idempotencyKey' is not null then
    holder := (pgflow._claim_keys((pgflow._resolve_flow(flow_slug)).flow_slug, array[options ->> 'idempotencyKey'],
                                  array[input], array[new_id]))[1];
  end if;

  if holder = new_id then
    perform pgflow.start_flow(flow_slug, input, new_id);
  end if;
  return query
  select r.run_id, r.flow_slug, r.status, r.input, r.output, r.remaining_steps, r.started_at, r.completed_at, r.failed_at,
         holder = new_id
  from pgflow.runs r
  where r.run_id = holder;
end
$$;
