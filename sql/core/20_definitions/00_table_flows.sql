-- Concrete flows: one row a version. A plain flow is its own alias.
--
-- alias         the stable name under which versions replace each other; never changes
-- opt_*         defaults of the steps: attempts, seconds, seconds
-- queue_mode    flow: every step on lower(flow_slug); step: each on its private
--               queue; routed: each on the literal it names
-- created_at    later than that of every other version of the alias, whatever the
--               clock does: offer_activation orders versions by it
-- retired_at    set by retire_flow; a retired flow takes no new runs
--
-- Locks: a start takes the row for key share, a switch for share, retirement and
-- deletion for update, each after the alias (_lock_name).
create table pgflow.flows (
  flow_slug text primary key,
  alias text not null,
  opt_max_attempts int not null default 3,
  opt_base_delay int not null default 1,
  opt_timeout int not null default 60,
  queue_mode text not null default 'flow',
  created_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz,
  constraint flows_slug_is_valid check (pgflow.is_valid_slug(flow_slug)),
  constraint flows_alias_is_valid check (pgflow.is_valid_slug(alias)),
  constraint flows_max_attempts_in_range check (opt_max_attempts between 0 and 1000),
  constraint flows_base_delay_in_range check (opt_base_delay between 0 and 86400),
  constraint flows_timeout_in_range check (opt_timeout between 1 and 604800),
  constraint flows_queue_mode_is_known check (queue_mode in ('flow', 'step', 'routed')),
  -- Target of the alias table's foreign key: an alias activates only its own versions.
  constraint flows_alias_and_slug unique (alias, flow_slug)
);

create unique index flows_slug_ignoring_case on pgflow.flows (lower(flow_slug));
-- Coverage starts from here, so that retired versions cost nothing.
create index flows_in_service on pgflow.flows (flow_slug) where retired_at is null;
