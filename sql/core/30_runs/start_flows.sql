-- Starts one run of a flow per input, all or none, and returns their ids in the order of the inputs. The alias is
-- resolved once, so all of them are runs of one concrete flow.
-- Locks: the flow's row for key share. Errors: as start_flow; the number of the bad input is named.
create function pgflow.start_flows(flow_slug text, inputs jsonb[])
returns setof uuid
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  run_ids uuid[] := array(select pgflow._new_run_id() from unnest(inputs));
begin
  perform pgflow._start_runs(flow_slug, run_ids, coalesce(inputs, '{}'));
  return query select r.run_id from unnest(run_ids) with ordinality as r (run_id, place) order by r.place;
end
$$;

-- The same with options. idempotencyKey: an array with a key, or null, for each input; see start_flow. The ids of runs
-- that exist already stand in their places.
--
-- options   null, or {"idempotencyKey": [text, ...]}
-- Locks: the flow's row for key share, the keys' rows in their order. Errors: also 22023 an unknown option, a key that is
-- empty or longer than 255 characters, another number of keys than of inputs; 23505 a key that was used with another input.
create function pgflow.start_flows(flow_slug text, inputs jsonb[], options jsonb)
returns setof uuid
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  run_ids uuid[] := array(select pgflow._new_run_id() from unnest(inputs));
  keys text[];
  holders uuid[] := run_ids;
begin
  perform pgflow._check_start_options(options);
  if options -> 'idempotencyKey' <> 'null' then
    if jsonb_typeof(options -> 'idempotencyKey') <> 'array'
       or jsonb_array_length(options -> 'idempotencyKey') <> coalesce(cardinality(inputs), 0) then
      raise exception 'idempotencyKey is not an array with a key for each of the % inputs', coalesce(cardinality(inputs), 0)
        using errcode = 'invalid_parameter_value', hint = 'Give a text or null for each input, in their order.';
    end if;
    keys := array(select k.key from jsonb_array_elements_text(options -> 'idempotencyKey') with ordinality as k (key, place)
                  order by k.place);
    holders := pgflow._claim_keys((pgflow._resolve_flow(flow_slug)).flow_slug, keys, inputs, run_ids);
  end if;

  perform pgflow._start_runs(
    flow_slug,
    array(select s.run_id from unnest(run_ids, holders) with ordinality as s (run_id, holder, place)
          where s.run_id = s.holder order by s.place),
    array(select s.input from unnest(inputs, run_ids, holders) with ordinality as s (input, run_id, holder, place)
          where s.run_id = s.holder order by s.place));
  return query select h.run_id from unnest(holders) with ordinality as h (run_id, place) order by h.place;
end
$$;
