-- The active concrete flow of each alias: exactly one, of its own versions. An
-- alias without an active version has no row. A plain flow points at itself.
--
-- previous_flow_slug   where the alias goes back to when its active flow is deleted;
--                      may name a flow that is gone
-- Locks: every writer holds _lock_name(alias). Starts read without a lock.
create table pgflow.flow_aliases (
  alias text primary key,
  active_flow_slug text not null,
  previous_flow_slug text,
  activated_at timestamptz not null default clock_timestamp(),
  constraint flow_aliases_alias_is_valid check (pgflow.is_valid_slug(alias)),
  constraint flow_aliases_active_once unique (active_flow_slug),
  -- Deferred: compiling anew deletes the flow and keeps the alias.
  constraint flow_aliases_active_is_a_version
    foreign key (alias, active_flow_slug) references pgflow.flows (alias, flow_slug)
    deferrable initially deferred
);

create unique index flow_aliases_ignoring_case on pgflow.flow_aliases (lower(alias));
