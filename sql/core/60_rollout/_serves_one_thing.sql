-- Whether the serves of a manifest entry names exactly one flow or one queue.
create function pgflow._serves_one_thing(serves jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select coalesce(
    jsonb_typeof(serves) = 'object'
    and (select count(*) from jsonb_object_keys(
           case jsonb_typeof(serves) when 'object' then serves else '{}' end)) = 1
    and (jsonb_typeof(serves -> 'flow') = 'string' and serves ->> 'flow' <> ''
         or jsonb_typeof(serves -> 'queue') = 'string' and serves ->> 'queue' <> ''),
    false)
$$;
