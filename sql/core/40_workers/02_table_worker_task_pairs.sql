-- The exact pairs that a worker registered for its queue. held: the host cannot
-- run it just now (last heartbeat's word); a switch counts it as missing.
-- No foreign key to steps: deleting a flow must not wait for its workers.
create table pgflow.worker_task_pairs (
  worker_id uuid not null references pgflow.workers (worker_id) on delete cascade,
  flow_slug text not null,
  step_slug text not null,
  held boolean not null default false,
  primary key (worker_id, flow_slug, step_slug)
);

create index worker_task_pairs_pair_idx on pgflow.worker_task_pairs (flow_slug, step_slug);
