-- Entries that replace or keep a function of a flow or a queue that does not exist, as
-- readable lines: an alias or a typing error there would leave consumers out of the
-- affected set without a word. What is added may come before its flow and queue, what
-- is retired after them.
create function pgflow._unknown_services(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  select format('function "%s" serves %s, which does not exist', e.function_name,
                case when e.flow_slug is not null then format('flow "%s"', e.flow_slug)
                  else format('queue "%s"', e.queue_name) end)
  from pgflow._manifest_entries(manifest) as e
  where e.action in ('replace', 'keep-draining')
    and not exists (select from pgflow.flows f where f.flow_slug = e.flow_slug)
    and not exists (select from pgflow.queues q where q.queue_name = e.queue_name)
  order by 1
$$;
