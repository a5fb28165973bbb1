-- What a start needs to know of a flow: read once, by the statement that finds and locks the flow (_resolve_flow).
--
-- starts     a plain root step (single, no condition): it is inserted as started, nothing has to be decided about it
-- delay      of its message, seconds
create type pgflow._plan_step as (
  step_slug text,
  step_type text,
  deps_count int,
  starts boolean,
  queue_name text,
  delay int
);

-- steps      all of them, in the order of the definition
-- is_plain   every root step is plain
create type pgflow._plan as (
  flow_slug text,
  steps pgflow._plan_step[],
  is_plain boolean
);
