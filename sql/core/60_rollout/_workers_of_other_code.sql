-- Workers of other code than a manifest gives that are at work, as readable lines
-- (_code_rows): while there are such, its final states are not set, and it is not done.
create function pgflow._workers_of_other_code(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  select c.line from pgflow._code_rows(loaded) as c where c.is_at_work order by 1
$$;
