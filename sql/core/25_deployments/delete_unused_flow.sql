-- delete_flow_and_data for a flow that nothing needs any more (deletion_blockers), and
-- for no other: the test is made under the lock of the flow row, so that no start
-- passes it.
-- Locks: as delete_flow_and_data.
-- Errors: 42704 unknown flow; 55000 with the reasons.
create function pgflow.delete_unused_flow(flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform pgflow._raise_problems(
    format('flow "%s" is in use', flow.flow_slug), pgflow.deletion_blockers(flow.flow_slug),
    'object_not_in_prerequisite_state',
    'Let its runs end or cancel them, activate another version of its alias, and stop the hosts that carry it; '
    'or delete it by force, with what still runs.');
  perform pgflow.delete_flow_and_data(flow.flow_slug);
end
$$;
