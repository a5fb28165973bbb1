-- The one row of a claim that the fence refused. Callers: the claims.
create function pgflow._fenced_row(queue_name text, reason text)
returns pgflow.claim_row
language sql
immutable
set search_path = ''
as $$
  select row('fenced', lower(queue_name), null, null, null, null, null, null, null, null, null, null,
             null, null, null, reason, null)::pgflow.claim_row
$$;
