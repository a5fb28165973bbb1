-- Raises 42704 for a deployment that has no manifest.
create function pgflow._raise_unknown_manifest(deployment text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  raise exception 'there is no manifest of deployment "%"', deployment
    using errcode = 'undefined_object', hint = 'Load it first: select pgflow.load_manifest(...).';
end
$$;
