-- What is wrong with a manifest by itself, as readable lines: fields and words, and
-- final states that contradict their action. A field that nobody knows is a slip of
-- one that would else be missing without a word. Nothing else reads a manifest before
-- this is empty.
create function pgflow._manifest_problems(manifest jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with entries as (
    select e.entry, e.position - 1 as number,
           case when e.entry ->> 'functionName' <> '' then format('function "%s"', e.entry ->> 'functionName')
             else format('entries[%s]', e.position - 1) end as thing
    from jsonb_array_elements(
      case jsonb_typeof(manifest -> 'entries') when 'array' then manifest -> 'entries' else '[]' end)
      with ordinality as e (entry, position)
  )
  select 'deployment must be a text that names this deployment'
  where jsonb_typeof(manifest -> 'deployment') is distinct from 'string' or manifest ->> 'deployment' = ''
  union all
  select 'entries must be a list of at least one function' where not exists (select from entries)
  union all
  select format('scope is %s: it must be "all" or "handler"', manifest -> 'scope')
  where coalesce(manifest -> 'scope', '"all"') not in ('"all"', '"handler"')
  union all
  select format('field "%s" is unknown: it must be deployment, entries or scope', k.key)
  from jsonb_object_keys(case jsonb_typeof(manifest) when 'object' then manifest else '{}' end) as k (key)
  where k.key not in ('deployment', 'entries', 'scope')
  union all
  select format('%s: field "%s" is unknown: it must be functionName, serves, action, enabled, startMode or modules',
                e.thing, k.key)
  from entries e
  cross join lateral jsonb_object_keys(case jsonb_typeof(e.entry) when 'object' then e.entry else '{}' end) as k (key)
  where k.key not in ('functionName', 'serves', 'action', 'enabled', 'startMode', 'modules')
  union all
  select format('%s: %s', e.thing, p.problem)
  from entries e
  cross join lateral (values
    (jsonb_typeof(e.entry -> 'functionName') = 'string' and e.entry ->> 'functionName' <> '',
     'functionName must be a text'),
    (e.entry ->> 'action' in ('replace', 'add', 'keep-draining', 'retire'),
     format('action is %s: it must be replace, add, keep-draining or retire', coalesce(e.entry -> 'action', 'null'))),
    (jsonb_typeof(e.entry -> 'enabled') = 'boolean',
     'enabled must say true or false: the final state of the function'),
    (e.entry ->> 'startMode' in ('process', 'http'),
     format('startMode is %s: it must be process or http', coalesce(e.entry -> 'startMode', 'null'))),
    (pgflow._serves_one_thing(e.entry -> 'serves'),
     'serves must be {"flow": SLUG} or {"queue": NAME}'),
    (not pgflow._serves_one_thing(e.entry -> 'serves') or pgflow._is_servable(e.entry -> 'serves'),
     format('serves is %s: no flow or queue can have that name', e.entry -> 'serves')),
    (pgflow._is_module_list(e.entry -> 'modules'),
     'modules must be a list of build-ids or sha256 sums, or a list of such lists, one for each build'),
    (e.entry ->> 'action' is distinct from 'retire' or e.entry -> 'enabled' is distinct from 'true',
     'it is retired, and would end enabled'),
    (e.entry ->> 'action' is distinct from 'keep-draining' or e.entry -> 'enabled' is distinct from 'false',
     'it is kept for draining, and would end disabled'),
    (e.entry ->> 'action' is distinct from 'replace' or e.entry ->> 'startMode' is distinct from 'process'
       or coalesce(e.entry -> 'modules', 'null') not in ('null', '[]'),
     'it is replaced, and no modules tell its new processes from its old ones')
  ) as p (is_good, problem)
  where p.is_good is not true
  union all
  select format('%s: module "%s" is neither a build-id nor a sha256 sum: pgflowctl inspect FILE.so shows both', e.thing, m.name)
  from entries e
  cross join lateral pgflow._bad_module_names(e.entry) as m (name)
  union all
  select format('function "%s" has %s entries: it must have one', e.entry ->> 'functionName', count(*))
  from entries e
  where e.entry ->> 'functionName' <> ''
  group by e.entry ->> 'functionName'
  having count(*) > 1
$$;
