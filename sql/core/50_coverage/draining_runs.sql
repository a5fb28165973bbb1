-- Which of these versions an alias points at, and how many started runs the others have
-- left. Runs of an active version are not counted (null): there may be any number, and
-- nobody waits for their end. A slug that is not compiled has no row.
-- Locks: none. Reads the started runs of the versions that drain.
create function pgflow.draining_runs(flow_slugs text[])
returns table (flow_slug text, is_active boolean, started_runs bigint)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  select f.flow_slug, a.active_flow_slug is not null,
         case when a.active_flow_slug is null then (
           select count(*) from pgflow.runs r where r.flow_slug = f.flow_slug and r.status = 'started')
         end
  from pgflow.flows f
  left join pgflow.flow_aliases a on a.active_flow_slug = f.flow_slug
  where f.flow_slug = any (draining_runs.flow_slugs)
  order by f.flow_slug
$$;
