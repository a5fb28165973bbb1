-- Queues that this schema made or adopted; the messages live in pgmq.
--
-- queue_name        canonical: lower case, at most 47 bytes (PGMQ's limit)
-- kind              flow: the default queue of its owner; step: private to one step
--                   of its owner; shared: any flow may route steps there
-- owner_flow_slug   null exactly for shared
create table pgflow.queues (
  queue_name text primary key,
  kind text not null,
  owner_flow_slug text references pgflow.flows (flow_slug),
  created_at timestamptz not null default clock_timestamp(),
  constraint queues_name_is_canonical
    check (octet_length(queue_name) <= 47 and queue_name ~ '^[a-z0-9_]+(-[a-z0-9_]+)*$'),
  constraint queues_kind_is_known check (kind in ('flow', 'step', 'shared')),
  constraint queues_owned_unless_shared check ((kind = 'shared') = (owner_flow_slug is null))
);

create index queues_by_owner on pgflow.queues (owner_flow_slug) where owner_flow_slug is not null;
-- A flow has one default queue: what the three-argument start_tasks reads.
create unique index queues_default_of_flow on pgflow.queues (owner_flow_slug) where kind = 'flow';
