-- Raises 55000 with all the reasons why a manifest is refused; none: returns.
create function pgflow._raise_manifest_problems(deployment text, problems text[], remedy text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._raise_problems(
    format('manifest "%s" is refused', coalesce(deployment, '(none)')), problems, 'object_not_in_prerequisite_state', remedy);
end
$$;
