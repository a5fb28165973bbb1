-- The one row of a claim that the fence refused.
create function pgflow._fenced_row(queue_name text, reason text)
returns pgflow.claim_row
language plpgsql
immutable
set search_path = ''
as $$
begin
  return row('fenced', lower(queue_name), null, null, null, null, null, null, null, null, null, null,
             null, null, null, reason, null)::pgflow.claim_row;
end
$$;
