-- Entries that replace or keep a function of a flow that does not exist, as readable
-- lines: an alias or a typing error there would leave its queues out of the affected
-- set without a word. What is added may come before its flow, what is retired after it.
-- Callers: load_manifest.
create function pgflow._unknown_flows(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  select format('function "%s" serves flow "%s", which does not exist', e.function_name, e.flow_slug)
  from pgflow._manifest_entries(manifest) as e
  where e.action in ('replace', 'keep-draining')
    and e.flow_slug is not null
    and not exists (select from pgflow.flows f where f.flow_slug = e.flow_slug)
  order by 1
$$;
