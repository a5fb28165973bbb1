-- Raises 42704 for a concrete slug that does not exist; when it is an alias the
-- message names the active version.
create function pgflow._raise_unknown_flow(flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  active text;
begin
  select a.active_flow_slug into active
  from pgflow.flow_aliases a
  where a.alias = _raise_unknown_flow.flow_slug;

  if active is not null then
    raise exception 'flow "%" does not exist: it is an alias, and its active version is "%"', flow_slug, active
      using errcode = 'undefined_object', hint = 'Give the concrete slug.';
  end if;
  raise exception 'flow "%" does not exist', flow_slug
    using errcode = 'undefined_object', hint = 'The table pgflow.flows lists the flows; slugs are case sensitive.';
end
$$;
