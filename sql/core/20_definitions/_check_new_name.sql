-- Raises unless a new concrete flow may take this slug and this alias: both
-- valid, and each name, ignoring case, used for one thing only. Only a plain
-- flow's own alias equals a slug.
-- The caller holds the locks of both names (_lock_flow), and knows that the slug
-- itself is free.
-- Errors: 22023 invalid, 42710 taken.
create function pgflow._check_new_name(flow_slug text, alias text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  bad text;
  taken record;
begin
  select n.name into bad
  from unnest(array[flow_slug, alias]) as n (name)
  where not pgflow.is_valid_slug(n.name)
  limit 1;
  if found then
    raise exception 'flow slug or alias "%" is not valid', coalesce(bad, '(null)')
      using errcode = 'invalid_parameter_value',
            hint = 'Use 1 to 128 letters, digits and _, not starting with a digit; "run" is reserved.';
  elsif flow_slug ~ '^_|_$|__' or alias ~ '^_|_$|__' then
    raise exception 'flow slug or alias "%" is not valid', case when flow_slug ~ '^_|_$|__' then flow_slug else alias end
      using errcode = 'invalid_parameter_value',
            hint = 'Use no _ at its start or end and no __: private queues are named flow__step.';
  end if;

  select f.flow_slug, f.alias into taken
  from pgflow.flows f
  where lower(f.flow_slug) = lower(_check_new_name.flow_slug)
     or lower(f.flow_slug) = lower(_check_new_name.alias)
     or lower(f.alias) = lower(_check_new_name.flow_slug)
     or (lower(f.alias) = lower(_check_new_name.alias) and f.alias <> _check_new_name.alias)
  order by f.flow_slug
  limit 1;
  if found then
    raise exception 'flow "%" with alias "%" cannot be made: a name is taken by flow "%" with alias "%"',
        flow_slug, alias, taken.flow_slug, taken.alias
      using errcode = 'duplicate_object',
            detail = 'Slugs and aliases are one namespace, ignoring case; only a plain flow''s alias equals a slug.',
            hint = 'Choose another slug or alias.';
  end if;
end
$$;
