-- Whether a worker understands the words of a pin: it announces protocol 2 or later in
-- its info. Hosts of 0.1 announce none and are told what they know instead.
create function pgflow._knows_pins(info jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select case jsonb_typeof(info -> 'protocol') when 'number' then (info -> 'protocol')::numeric >= 2 else false end
$$;
