-- The oldest or the newest schema version that a host announced (info.schema); 1 for one that announced none: releases
-- of that version did not, and what is no number is no announcement.
create function pgflow._announced_version(info jsonb, which text)
returns numeric
language sql
immutable
set search_path = ''
as $$
  select case jsonb_typeof(info #> array['schema', which])
    when 'number' then (info #>> array['schema', which])::numeric
    else 1
  end
$$;
