-- Adds the next step to a flow. Dependencies must exist already, so a flow has
-- no cycles. Idempotent: an existing step of the same structure is returned as it
-- is, options included; one of another structure is an error. A flow that was compiled
-- as a whole, or has runs, gets no new step.
--
-- queue_name   null: the flow's default queue, or the private queue of the step in
--              a flow of mode step. A name: that queue, made as shared when absent;
--              the flow is routed from then on.
-- Locks: the flow row for no key update (two callers number their steps in turn;
--        starts go on); for a new step then for update.
-- Errors: 42704 unknown flow; 22023 bad value; 55000 queue, other structure, or a flow
--         that gets no new step.
create function pgflow.add_step(
  flow_slug text,
  step_slug text,
  deps_slugs text[] default '{}',
  max_attempts int default null,
  base_delay int default null,
  timeout int default null,
  start_delay int default null,
  step_type text default 'single',
  required_input_pattern jsonb default null,
  forbidden_input_pattern jsonb default null,
  when_unmet text default 'skip',
  when_exhausted text default 'fail',
  queue_name text default null
)
returns pgflow.steps
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
  step pgflow.steps;
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = add_step.flow_slug for no key update;
  if not found then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;

  deps_slugs := coalesce(deps_slugs, '{}');
  -- By name: the columns of an adopted table stand in another order.
  step.flow_slug := flow_slug;
  step.step_slug := step_slug;
  step.step_type := step_type;
  step.deps_count := cardinality(deps_slugs);
  step.opt_max_attempts := max_attempts;
  step.opt_base_delay := base_delay;
  step.opt_timeout := timeout;
  step.opt_start_delay := start_delay;
  step.required_input_pattern := required_input_pattern;
  step.forbidden_input_pattern := forbidden_input_pattern;
  step.when_unmet := when_unmet;
  step.when_exhausted := when_exhausted;
  step.wants_flow_input := false;
  perform pgflow._check_step(step, deps_slugs);

  if exists (select from pgflow.steps s
             where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug) then
    return pgflow._same_step(step, deps_slugs, lower(queue_name));
  end if;

  perform pgflow._check_new_step_slug(flow_slug, step_slug);
  perform pgflow._check_may_grow(flow_slug, step_slug);
  perform pgflow._check_dependencies(flow_slug, step_slug, deps_slugs);
  step.queue_name := pgflow._route_new_step(flow, step_slug, queue_name);
  select count(*) into step.step_index from pgflow.steps s where s.flow_slug = add_step.flow_slug;
  step.created_at := clock_timestamp();

  insert into pgflow.steps select step.*;
  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select add_step.flow_slug, d.slug, add_step.step_slug from unnest(deps_slugs) as d (slug);
  return step;
end
$$;
