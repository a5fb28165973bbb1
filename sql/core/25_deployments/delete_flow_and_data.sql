-- Deletes a concrete flow and everything of it, on all its queues; there is no way
-- back. Neighbours on shared queues are untouched. An alias pointing at it goes
-- back to the previous version if that exists and is not retired, else it goes.
-- The record of switches stays. The slug may be named p_flow_slug, as existing clients do, or flow_slug.
-- Locks: alias, slug, then as _delete_flow. Errors: 42704 unknown flow, 22023 both names or neither.
create function pgflow.delete_flow_and_data(p_flow_slug text default null, flow_slug text default null)
returns void
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
begin
  if num_nonnulls(p_flow_slug, flow_slug) <> 1 then
    raise exception 'delete_flow_and_data: % slugs are given', num_nonnulls(p_flow_slug, flow_slug)
      using errcode = 'invalid_parameter_value', hint = 'Give the slug of one flow.';
  end if;
  flow := pgflow._require_flow(coalesce(p_flow_slug, flow_slug));
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform pgflow._leave_alias(flow);
  perform pgflow._delete_flow(flow);
end
$$;
