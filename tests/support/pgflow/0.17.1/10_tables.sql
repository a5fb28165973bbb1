-- What pgflow 0.17.0 and 0.17.1 changed in a database of 0.16.0. Columns come last in their tables.
create or replace function pgflow.is_valid_slug(slug text)
returns boolean
language plpgsql
immutable
set search_path = ''
as $$
begin
  return slug is not null and length(slug) between 1 and 128 and slug ~ '^[a-zA-Z][a-zA-Z0-9_]*$' and slug <> 'run'
    and slug !~ '(__|_$)';
end
$$;

create function pgflow.is_valid_queue_name(queue_name text)
returns boolean
language sql
immutable
set search_path = ''
as $$ select coalesce(queue_name ~ '^[a-z0-9_]{1,47}$', false) $$;

alter table pgflow.flows drop constraint slug_is_valid;
alter table pgflow.flows add constraint slug_is_valid check (pgflow.is_valid_slug(flow_slug));
alter table pgflow.steps drop constraint steps_step_slug_check;
alter table pgflow.steps add constraint steps_step_slug_check check (pgflow.is_valid_slug(step_slug));

alter table pgflow.flows add column queue_mode text not null default 'flow'
  constraint queue_mode_is_valid check (queue_mode in ('flow', 'step'));
create unique index idx_flows_normalized_slug on pgflow.flows (lower(flow_slug));

alter table pgflow.steps add column queue_name text;
update pgflow.steps set queue_name = lower(flow_slug);
alter table pgflow.steps alter column queue_name set not null,
  add constraint queue_name_is_valid check (pgflow.is_valid_queue_name(queue_name));
create unique index idx_steps_normalized_slug on pgflow.steps (flow_slug, lower(step_slug));

alter table pgflow.step_tasks add column queue_name text;
update pgflow.step_tasks set queue_name = lower(flow_slug);
alter table pgflow.step_tasks alter column queue_name set not null,
  add constraint queue_name_is_valid check (pgflow.is_valid_queue_name(queue_name));
drop index pgflow.idx_step_tasks_message_id;
create unique index idx_step_tasks_queue_message on pgflow.step_tasks (queue_name, message_id)
  where message_id is not null;

alter table pgflow.workers add column pgflow_version text;
create index idx_workers_started_at on pgflow.workers (started_at);
create index idx_workers_stopped_at on pgflow.workers (stopped_at);
create index idx_runs_started_at on pgflow.runs (started_at);
