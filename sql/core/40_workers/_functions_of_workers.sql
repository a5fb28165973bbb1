-- The functions of these workers, each once; for _tell_hosts. Nulls and rows that are gone give none.
create function pgflow._functions_of_workers(worker_ids uuid[])
returns text[]
language sql
stable
set search_path = ''
as $$
  select array(
    select distinct w.function_name
    from unnest(worker_ids) as i (id)
    join pgflow.workers w on w.worker_id = any (array[i.id]))
$$;
