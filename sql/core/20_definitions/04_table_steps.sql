-- Steps of concrete flows. Everything but the opt_ columns and wants_flow_input
-- is immutable once compiled.
--
-- step_index         position in the flow, from 0; every dependency has a lower one
-- queue_name         the one route of the step
-- opt_*              null: inherit the flow's; start delay in seconds
-- *_input_pattern    objects, tested by containment when the step becomes ready
-- when_unmet         what an unmet condition does; when_exhausted: what the last
--                    failed attempt does
-- contract           the author's text for input and output; compared, never read
create table pgflow.steps (
  flow_slug text not null references pgflow.flows (flow_slug),
  step_slug text not null,
  step_type text not null default 'single',
  step_index int not null,
  deps_count int not null default 0,
  queue_name text not null references pgflow.queues (queue_name),
  opt_max_attempts int,
  opt_base_delay int,
  opt_timeout int,
  opt_start_delay int,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  wants_flow_input boolean not null default false,
  contract text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (flow_slug, step_slug),
  constraint steps_index_once unique (flow_slug, step_index),
  constraint steps_slug_is_valid check (pgflow.is_valid_slug(step_slug)),
  constraint steps_type_is_known check (step_type in ('single', 'map')),
  constraint steps_index_not_negative check (step_index >= 0),
  constraint steps_deps_count_not_negative check (deps_count >= 0),
  constraint steps_map_has_one_dependency check (step_type <> 'map' or deps_count <= 1),
  constraint steps_max_attempts_in_range check (opt_max_attempts between 0 and 1000),
  constraint steps_base_delay_in_range check (opt_base_delay between 0 and 86400),
  constraint steps_timeout_in_range check (opt_timeout between 1 and 604800),
  constraint steps_start_delay_in_range check (opt_start_delay between 0 and 31536000),
  constraint steps_required_pattern_is_object check (jsonb_typeof(required_input_pattern) = 'object'),
  constraint steps_forbidden_pattern_is_object check (jsonb_typeof(forbidden_input_pattern) = 'object'),
  constraint steps_when_unmet_is_known check (when_unmet in ('fail', 'skip', 'skip-cascade')),
  constraint steps_when_exhausted_is_known check (when_exhausted in ('fail', 'skip', 'skip-cascade')),
  -- The elements of a root map are the run's input: it would arrive once per element.
  constraint steps_root_map_wants_no_flow_input
    check (not (wants_flow_input and step_type = 'map' and deps_count = 0))
);

create index steps_by_queue on pgflow.steps (queue_name, flow_slug);
