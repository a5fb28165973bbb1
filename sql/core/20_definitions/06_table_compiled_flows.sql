-- Flows whose shape was given as a whole, by a module or an existing client, and since when; those that were made step
-- by step have no row. Beside pgflow.flows, whose row callers get as a result.
create table if not exists pgflow.compiled_flows (
  flow_slug text primary key references pgflow.flows (flow_slug) on delete cascade,
  compiled_at timestamptz not null default clock_timestamp()
);
