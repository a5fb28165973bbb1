-- Refuses a host that the schema's contract has left behind, by what it announces (info.schema.newest; a host that
-- announces none is one of version 1). A host asks for the version when it starts; this is for one that asked just
-- before the contract. Workers that are no hosts of this project pass (_hosts_unfit_for).
-- Locks: none: pgflowctl migrate --contract waits for registrations that did not see it.
create function pgflow._check_host_version(info jsonb)
returns void
language plpgsql
set search_path = ''
as $$
declare
  newest numeric := pgflow._announced_version(info, 'newest');
  floor int := (select v.oldest_host from pgflow.schema_version() v);
begin
  if info ? 'version' and newest < floor then
    raise exception 'the schema pgflow runs hosts of version % on, and this one is of version %', floor, newest
      using errcode = 'object_not_in_prerequisite_state', hint = 'Install a newer pgflow-host.';
  end if;
end
$$;
