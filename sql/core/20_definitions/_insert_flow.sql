-- Inserts the row of a new concrete flow; nulls take the defaults 3, 5 and 60.
-- created_at is later than that of every version of the alias and than its last
-- switch, also when the clock stepped back: offer_activation compares them.
-- The caller holds the locks of alias and slug.
create function pgflow._insert_flow(
  flow_slug text,
  alias text,
  queue_mode text,
  max_attempts int,
  base_delay int,
  timeout int
)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
begin
  perform pgflow._check_new_name(flow_slug, alias);
  perform pgflow._check_options(format('flow "%s"', flow_slug), max_attempts, base_delay, timeout, null);

  insert into pgflow.flows (flow_slug, alias, queue_mode, opt_max_attempts, opt_base_delay, opt_timeout, created_at)
  select _insert_flow.flow_slug, _insert_flow.alias, _insert_flow.queue_mode,
         coalesce(_insert_flow.max_attempts, 3), coalesce(_insert_flow.base_delay, 5),
         coalesce(_insert_flow.timeout, 60),
         greatest(clock_timestamp(), pgflow._alias_clock(_insert_flow.alias) + interval '1 microsecond')
  returning * into flow;
  return flow;
end
$$;
