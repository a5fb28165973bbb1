-- Whether the pins keep away every host of 0.1 that stands by for a function. None stands
-- by: false, for the next one to come may be right.
-- Locks: none.
create function pgflow._shuts_out_old_hosts(function_name text)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce(bool_and(pgflow._pin_fence(w) is not null), false)
  from pgflow.workers w
  where w.function_name = $1 and w.stopped_at is null and w.standby and pgflow._is_live(w) and not pgflow._knows_pins(w.info)
$$;
