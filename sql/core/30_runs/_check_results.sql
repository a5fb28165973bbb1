-- Refuses arguments of finish_tasks that are malformed as a whole: a mistake of the caller, not of an item.
-- Errors: invalid_parameter_value.
create function pgflow._check_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs text[], errors text[], retry_afters int[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  items int := cardinality(run_ids);
begin
  if worker_id is null then
    raise exception 'worker_id is null'
      using errcode = 'invalid_parameter_value', hint = 'Give the id that the tasks were claimed with.';
  end if;

  if cardinality(step_slugs) is distinct from items or cardinality(task_indexes) is distinct from items
     or cardinality(claim_nos) is distinct from items or cardinality(results) is distinct from items
     or coalesce(cardinality(outputs), items) is distinct from items
     or coalesce(cardinality(errors), items) is distinct from items
     or coalesce(cardinality(retry_afters), items) is distinct from items then
    raise exception 'the arrays have different lengths: % run_ids, % step_slugs, % task_indexes, % claim_nos, % results, % outputs, % errors, % retry_afters',
        items, cardinality(step_slugs), cardinality(task_indexes), cardinality(claim_nos), cardinality(results),
        cardinality(outputs), cardinality(errors), cardinality(retry_afters)
      using errcode = 'invalid_parameter_value', hint = 'The arrays are parallel: one element an item in each.';
  end if;

  if not results <@ array['completed', 'failed', 'permanent'] then
    raise exception 'result "%" is not known', (
        select r.result
        from unnest(results) r (result)
        where r.result is null or r.result not in ('completed', 'failed', 'permanent')
        limit 1)
      using errcode = 'invalid_parameter_value', hint = 'Use completed, failed or permanent.';
  end if;
end
$$;
