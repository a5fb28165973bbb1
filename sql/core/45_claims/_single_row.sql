-- The one row of a claim that took no message: 'fenced' with its reason, or
-- 'empty' with the time until the next message is due. Callers: the claims.
create function pgflow._single_row(outcome text, queue_name text, reason text, due_in_ms bigint)
returns pgflow.claim_row
language sql
immutable
set search_path = ''
as $$
  select row(outcome, lower(queue_name), null, null, null, null, null, null, null, null, null, null,
             null, null, null, reason, due_in_ms)::pgflow.claim_row
$$;
