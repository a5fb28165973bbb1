-- Refuses parallel arrays of different length, naming the function and lengths.
-- Locks: none. Errors: 22023.
create function pgflow._check_same_length(
  function_name text, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if (cardinality(step_slugs), cardinality(task_indexes), cardinality(claim_nos))
     is distinct from (cardinality(run_ids), cardinality(run_ids), cardinality(run_ids)) then
    raise exception '%: % run_ids, % step_slugs, % task_indexes, % claim_nos', function_name,
        cardinality(run_ids), cardinality(step_slugs), cardinality(task_indexes), cardinality(claim_nos)
      using errcode = 'invalid_parameter_value', hint = 'Give one element of each for every item.';
  end if;
end
$$;
