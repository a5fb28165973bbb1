-- Which flows were compiled as a whole: noted at the next start of a host that carries them.
create table if not exists pgflow.compiled_flows (
  flow_slug text primary key references pgflow.flows (flow_slug) on delete cascade,
  compiled_at timestamptz not null default clock_timestamp()
);
