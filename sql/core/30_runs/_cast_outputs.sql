-- Turns the outputs of a batch of results into jsonb: all in one go, and item by item only when that raises. An output
-- that jsonb refuses turns its item into result 'refused', with the reason as its error; the others are as given.
-- Only completed items have an output; a missing one is null, as JSON.
-- Locks: none.
create function pgflow._cast_outputs(
  inout results text[],
  outputs text[],
  inout errors text[],
  out parsed jsonb[]
)
language plpgsql
immutable
set search_path = ''
as $$
begin
  begin
    parsed := array(
      select case when i.result = 'completed' then coalesce(i.output, 'null')::jsonb end
      from unnest(results, outputs) with ordinality as i (result, output, item)
      order by i.item);
    return;
  exception when data_exception or program_limit_exceeded or internal_error then
    parsed := array_fill(null::jsonb, array[cardinality(results)]);
    errors := coalesce(nullif(errors, '{}'), array_fill(null::text, array[cardinality(results)]));
  end;

  for item in 1 .. cardinality(results) loop
    begin
      if results[item] = 'completed' then
        parsed[item] := coalesce(outputs[item], 'null')::jsonb;
      end if;
    exception when data_exception or program_limit_exceeded or internal_error then
      results[item] := 'refused';
      errors[item] := format('[OUTPUT_REFUSED] the output cannot be stored as jsonb: %s', sqlerrm);
    end;
  end loop;
end
$$;
