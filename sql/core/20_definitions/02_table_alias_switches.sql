-- Every switch of every alias, for audit and for offer_activation. No foreign
-- key: it survives the deletion of flows.
--
-- from_flow_slug   null: the alias had no active version
-- to_flow_slug     null: the alias went with its last version
-- at               never before the versions' created_at, whatever the clock does
-- by               session_user; worker_id: the host that offered, null for an operator
-- forced           made although the coverage test did not pass
create table pgflow.alias_switches (
  switch_id bigint generated always as identity primary key,
  alias text not null,
  from_flow_slug text,
  to_flow_slug text,
  at timestamptz not null default clock_timestamp(),
  by text not null default session_user,
  worker_id uuid,
  forced boolean not null default false
);

create index alias_switches_by_alias on pgflow.alias_switches (alias, at);
