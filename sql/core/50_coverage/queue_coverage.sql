-- The pairs that workers of a queue must support now, and why:
-- active        the active version of its alias, in service, has the step here
-- draining      a started run of this flow may still reach the step
-- executable    a queued task of it is on this queue
-- recoverable   a started task of it is on this queue
-- Whatever the queue name's spelling; a queue that is not known has no pairs.
-- Locks: none.
create function pgflow.queue_coverage(queue_name text)
returns table (flow_slug text, step_slug text, reasons text[])
language sql
stable
set search_path = ''
-- planner: keys
as $$
  select n.flow_slug, n.step_slug,
         array_agg(n.reason order by array_position('{active,draining,executable,recoverable}', n.reason))
  from pgflow._coverage_needs(lower(queue_name)) as n
  group by n.flow_slug, n.step_slug
  order by n.flow_slug, n.step_slug
$$;
