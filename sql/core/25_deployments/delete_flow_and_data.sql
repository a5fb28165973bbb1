-- Deletes a concrete flow and everything of it, on all its queues; there is no way
-- back. Neighbours on shared queues are untouched. An alias pointing at it goes
-- back to the previous version if that exists and is not retired, else it goes.
-- The record of switches stays.
-- Locks: alias, slug, then as _delete_flow. Errors: 42704 unknown flow.
create function pgflow.delete_flow_and_data(flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform pgflow._leave_alias(flow);
  perform pgflow._delete_flow(flow);
end
$$;
