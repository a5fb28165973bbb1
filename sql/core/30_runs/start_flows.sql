-- Starts one run of a flow per input, all or none, and returns their ids in the order of the inputs. The alias is
-- resolved once, so all of them are runs of one concrete flow.
-- Locks: the flow's row for key share. Errors: as start_flow; the number of the bad input is named.
create function pgflow.start_flows(flow_slug text, inputs jsonb[])
returns setof uuid
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  run_ids uuid[] := array(select pgflow._new_run_id() from unnest(inputs));
begin
  perform pgflow._start_runs(flow_slug, run_ids, coalesce(inputs, '{}'));
  return query select r.run_id from unnest(run_ids) with ordinality as r (run_id, place) order by r.place;
end
$$;
