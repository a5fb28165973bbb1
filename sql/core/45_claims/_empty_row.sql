-- The one row of a claim that found nothing to take: due_in_ms until the next
-- message is visible, at least 1; null when none is waiting, and when the next one
-- is put off for ever ('infinity', by hand).
create function pgflow._empty_row(queue_name text, next_due timestamptz)
returns pgflow.claim_row
language plpgsql
set search_path = ''
as $$
begin
  return row('empty', lower(queue_name), null, null, null, null, null, null, null, null, null, null,
             null, null, null, null,
             case when isfinite(next_due) then
               greatest(ceil(extract(epoch from next_due - clock_timestamp()) * 1000), 1)::bigint
             end)::pgflow.claim_row;
end
$$;
