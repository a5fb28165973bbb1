-- Notes of messages that were taken off a queue (sql/core/05_messages).
create table if not exists pgflow.lost_messages (
  lost_id bigint generated always as identity primary key,
  queue_name text not null,
  run_id uuid,
  step_slug text,
  task_index int,
  noticed_at timestamptz not null default clock_timestamp()
);

create index if not exists lost_messages_of_any_task on pgflow.lost_messages (queue_name) where run_id is null;
