-- The private queue of a step in a flow of mode step: lower(flow__step); where that is longer than the 47 bytes that PGMQ
-- takes, lower(flow__index), with the step's position from 0. Longer still: whoever provisions it refuses.
create function pgflow._private_queue(flow_slug text, step_slug text, step_index int)
returns text
language sql
immutable
set search_path = ''
as $$
  select lower(case when octet_length(flow_slug || '__' || step_slug) <= 47
                    then flow_slug || '__' || step_slug
                    else flow_slug || '__' || step_index end)
$$;
