-- Whether the flow or the queue that serves names could exist: a valid slug, or a valid
-- queue name (as _canonical_queue, which raises). serves has passed _serves_one_thing.
create function pgflow._is_servable(serves jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select case when serves ? 'flow' then pgflow.is_valid_slug(serves ->> 'flow')
    else lower(serves ->> 'queue') ~ '^[a-z0-9_]+(-[a-z0-9_]+)*$' and octet_length(serves ->> 'queue') <= 47 end
$$;
