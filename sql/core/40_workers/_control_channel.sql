-- The channel on which hosts of a worker function hear that something about them has changed: a hash, because a name
-- may be longer than a channel's. Hosts compute the same: host/worker/control.c.
create function pgflow._control_channel(function_name text)
returns text
language sql
immutable
set search_path = ''
as $$
  select 'pgflow_f_' || left(encode(sha256(convert_to(function_name, 'UTF8')), 'hex'), 32)
$$;
