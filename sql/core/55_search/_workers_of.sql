-- The workers that carried a build and ran on a host, as far as their rows are kept (prune_data_older_than).
--
-- build   a build-id or sha256, whole or its first 8 characters and more; null: any
-- host    as in workers.info; null: any
-- Locks: none. Errors: 42704 when no worker is known of it.
create function pgflow._workers_of(build text, host text)
returns uuid[]
language plpgsql
stable
set search_path = ''
as $$
declare
  found uuid[] := array(
    select w.worker_id
    from pgflow.workers w
    where (_workers_of.host is null or w.info ->> 'host' = _workers_of.host)
      and (build is null or length(build) >= 8 and exists (
        select
        from jsonb_array_elements(
          case jsonb_typeof(w.info -> 'modules') when 'array' then w.info -> 'modules' else '[]' end) as m (module)
        where starts_with(lower(m.module ->> 'buildId'), lower(build))
           or starts_with(lower(m.module ->> 'sha256'), lower(build)))));
begin
  if found = '{}' then
    raise exception 'no worker is known%', concat(' of host "' || host || '"', ' that carried build "' || build || '"')
      using errcode = 'undefined_object',
            hint = 'A build is named by its build-id or sha256, at least 8 characters of it; '
                   'pgflowctl workers --all --json lists both.';
  end if;
  return found;
end
$$;
