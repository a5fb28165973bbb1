-- Why an applied deployment cannot be taken back by abort_manifest, as readable lines: new
-- starts go to a version that it brought, runs of such a version are under way, or it
-- retired a version.
-- Locks: none.
create function pgflow._abort_blockers(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  with served as (
    select e.queue_name from pgflow._own_entries(loaded) as e where e.queue_name is not null
    union
    select s.queue_name from pgflow._own_entries(loaded) as e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  flows as (
    select f.*
    from pgflow.flows f
    where exists (select from pgflow.steps s join served q on q.queue_name = s.queue_name where s.flow_slug = f.flow_slug)
  )
  select format('function "%s" belongs to deployment "%s" since %s: abort that one first', t.function_name, t.deployment, t.fenced_at)
  from pgflow._taken_over(loaded) as t
  union all
  select format('alias "%s" points at "%s" and pointed at "%s" before: first select pgflow.activate_flow(%L, %L)', a.alias,
                a.active_flow_slug, loaded.before_fence -> 'aliases' ->> a.alias, a.alias, loaded.before_fence -> 'aliases' ->> a.alias)
  from pgflow.flow_aliases a
  join flows f on f.flow_slug = a.active_flow_slug
  where not pgflow._is_open(loaded)
    and a.active_flow_slug <> loaded.before_fence -> 'aliases' ->> a.alias
  union all
  select format('flow "%s" came with it and has %s, which only its hosts can finish: wait for pgflow.drain_status(%L)', f.flow_slug, b.line, f.flow_slug)
  from flows f
  cross join lateral unnest(pgflow._drain_blockers(f.flow_slug)) as b (line)
  where not pgflow._is_open(loaded)
    and f.created_at > (loaded.before_fence ->> 'at')::timestamptz and b.line !~ '^alias '
  union all
  select format('flow "%s" was retired at %s: first select pgflow.unretire_flow(%L)', f.flow_slug, f.retired_at, f.flow_slug)
  from flows f
  join pgflow._own_entries(loaded) as e on e.action = 'retire' and e.flow_slug = f.flow_slug
  where not pgflow._is_open(loaded) and f.retired_at > loaded.fenced_at
$$;
