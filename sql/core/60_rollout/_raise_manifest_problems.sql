-- Raises 55000 with all the reasons why a manifest is refused; none: returns.
-- Callers: load_manifest, apply_manifest.
create function pgflow._raise_manifest_problems(deployment text, problems text[], remedy text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  if problems <> '{}' then
    raise exception 'manifest "%" is refused: %', coalesce(deployment, '(none)'), problems[1]
      using errcode = 'object_not_in_prerequisite_state', detail = array_to_string(problems, e'\n'), hint = remedy;
  end if;
end
$$;
