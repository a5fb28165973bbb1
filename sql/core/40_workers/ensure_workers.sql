-- Pings the http functions that should have a worker and have none: enabled, past
-- their debounce, without a live worker. One row each: invoked says whether a
-- request was sent. It is sent by pg_net (net.http_post) where that is installed
-- and the endpoint is known, without a key on a local stack that has none; else nothing is sent and the debounce stays.
-- process functions are never pinged: their supervisor starts them.
-- Locks: the function rows it pings, by skip locked,
-- so that two at once ping once.
create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  endpoint record;
  can_send boolean;
begin
  select e.url, e.key into endpoint from pgflow._functions_endpoint() e;
  can_send := (endpoint.key is not null and endpoint.url is not null
               or pgflow.is_local() and endpoint.url = 'http://kong:8000/functions/v1')
    and exists (
      select from pg_catalog.pg_proc p
      where p.pronamespace = to_regnamespace('net') and p.proname = 'http_post');

  for function_name in
    select f.function_name
    from pgflow.worker_functions f
    where f.enabled
      and f.start_mode = 'http'
      and (f.last_invoked_at is null or f.last_invoked_at <= clock_timestamp() - f.debounce)
      and not exists (
        select from pgflow.workers w
        where w.function_name = f.function_name and pgflow._is_live(w))
    order by f.function_name
    for no key update skip locked
  loop
    invoked := can_send;
    request_id := null;
    if can_send then
      execute 'select net.http_post(url => $1, headers => $2, body => $3)'
      using endpoint.url || '/' || function_name,
            jsonb_build_object('Content-Type', 'application/json') || case when endpoint.key is null then '{}' else
              jsonb_build_object('Authorization', 'Bearer ' || endpoint.key, 'apikey', endpoint.key) end,
            '{}'::jsonb
      into request_id;
      update pgflow.worker_functions f
      set last_invoked_at = clock_timestamp()
      where f.function_name = ensure_workers.function_name;
    end if;
    return next;
  end loop;
end
$$;
