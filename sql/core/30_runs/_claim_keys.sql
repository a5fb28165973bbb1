-- Takes idempotency keys for runs about to be started, and gives back the run of each place: the one that is to be
-- started, or the one that has the key already. A null key takes nothing.
--
-- flow_slug   any version of the alias that the keys belong to, held by the caller
-- Waits for a start with the same key that has not committed; keys are taken in their order, so that two calls with
-- several do not deadlock.
-- Locks: the key rows. Errors: 23505 when a key was used with another input; 22023 a key that is empty or too long.
create function pgflow._claim_keys(flow_slug text, keys text[], inputs jsonb[], run_ids uuid[])
returns uuid[]
language plpgsql
set search_path = ''
as $$
declare
  own_alias text := (select f.alias from pgflow.flows f where f.flow_slug = _claim_keys.flow_slug);
  bad record;
  taken uuid[];
begin
  select k.place, length(k.key) as size into bad
  from unnest(keys) with ordinality as k (key, place)
  where length(k.key) not between 1 and 255
  order by k.place
  limit 1;
  if found then
    raise exception 'idempotencyKey % has % characters', bad.place, bad.size
      using errcode = 'invalid_parameter_value', hint = 'A key has 1 to 255.';
  end if;

  -- Once more when retention deleted a run, and its key, between the two statements.
  loop
    insert into pgflow.idempotency_keys (alias, key, run_id)
    select own_alias, k.key, k.run_id
    from (
      select distinct on (x.key) x.key, x.run_id
      from unnest(keys, run_ids) with ordinality as x (key, run_id, place)
      where x.key is not null
      order by x.key, x.place
    ) k
    order by k.key
    on conflict do nothing;

    taken := array(
      select case when k.key is null then k.run_id else h.run_id end
      from unnest(keys, run_ids) with ordinality as k (key, run_id, place)
      left join lateral (
        select x.run_id from pgflow.idempotency_keys x where x.alias = own_alias and x.key = k.key offset 0) h on true
      order by k.place);
    exit when array_position(taken, null) is null;
  end loop;

  -- The input of a key that is there already is that of its run, or of its first place here.
  select k.place, k.key into bad
  from unnest(keys, inputs, run_ids, taken) with ordinality as k (key, input, run_id, holder, place)
  left join lateral (select x.input from pgflow.runs x where x.run_id = k.holder offset 0) r on true
  where k.run_id <> k.holder
    and coalesce(r.input, inputs[array_position(run_ids, k.holder)]) is distinct from k.input
  order by k.place
  limit 1;
  if found then
    raise exception 'idempotencyKey "%" was used with another input', bad.key
      using errcode = 'unique_violation',
            hint = format('A key stands for one start of alias "%s"; take a new one for another input.', own_alias);
  end if;
  return taken;
end
$$;
