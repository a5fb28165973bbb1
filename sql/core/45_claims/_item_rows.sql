-- The answer of a claim: its items as claim rows, the started ones with their
-- inputs. Raises what building an input raises; _safe_item_rows deals with it.
--
-- input       single root step: {}; single dependent step: {dep: output} of the
--             completed dependencies; map step: the task's element
-- flow_input  for root single steps and for steps that want it, on the first row
--             of each run only (every_row: on every one)
-- Locks: none. Errors: 54000, an input beyond jsonb's size.
create function pgflow._item_rows(queue_name text, items pgflow._claim_item[], every_row boolean)
returns pgflow.claim_row[]
language plpgsql
set search_path = ''
-- planner: loops
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return array(
    with item as (
      select i.*, i.outcome = 'started' and (i.wants_flow_input or i.root and not i.map)
                  as takes_flow_input
      from unnest(items) i
    ), turn as (
      select i.*, row_number() over (
        partition by i.run_id, i.takes_flow_input order by i.place) as turn
      from item i
    )
    select row(
      i.outcome, lower($1), i.msg_id, i.flow_slug, i.run_id, i.step_slug, i.task_index, i.attempt,
      i.max_attempts, i.claim_no, i.timeout,
      case
        when i.outcome <> 'started' then null
        when i.map then (
          select t.input from pgflow.step_tasks t
          where t.run_id = i.run_id and t.step_slug = i.step_slug and t.task_index = i.task_index)
        when i.root then '{}'::jsonb
        else (
          select coalesce(jsonb_object_agg(d.dep_slug, ss.output), '{}')
          from pgflow.deps d
          cross join lateral (
            select x.output from pgflow.step_states x
            where x.run_id = i.run_id and x.step_slug = d.dep_slug and x.status = 'completed'
            offset 0) ss
          where d.flow_slug = i.flow_slug and d.step_slug = i.step_slug)
      end,
      case
        when i.takes_flow_input and (i.turn = 1 or every_row) then (
          select r.input from pgflow.runs r where r.run_id = i.run_id)
      end,
      null, i.body_mismatch, i.reason, i.due_in_ms
    )::pgflow.claim_row
    from turn i
    order by i.place
  );
end
$$;
