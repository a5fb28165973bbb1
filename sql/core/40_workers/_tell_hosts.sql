-- Lets the hosts of these functions ask at once what their next heartbeat would tell them: one notification a function,
-- without payload, at commit. What is lost of it the heartbeat brings within 5 s.
-- Locks: none before commit.
create function pgflow._tell_hosts(function_names text[])
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pg_notify(pgflow._control_channel(n.name), '')
  from unnest(function_names) as n (name)
  where n.name is not null;
end
$$;
