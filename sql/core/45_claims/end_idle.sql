-- Ends what begin_idle began: the host is awake and polls, and nobody needs to notify it. Lets go of every advisory lock of the
-- session: what a cancelled begin_idle may have left is not known, and a session that listens for a host has no others.
-- Locks: none.
create function pgflow.end_idle()
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform pg_advisory_unlock_all();
  perform set_config('pgflow.idle_queues', '', false);
end
$$;
