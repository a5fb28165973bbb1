-- Refuses arguments of finish_tasks that are malformed as a whole: a mistake of the caller, not of an item.
-- Errors: invalid_parameter_value. Callers: finish_tasks.
create function pgflow._check_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs text[], errors text[], retry_afters int[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  expected int := cardinality(run_ids);
  bad text;
begin
  if worker_id is null then
    raise exception 'worker_id is null'
      using errcode = 'invalid_parameter_value', hint = 'Give the id that the tasks were claimed with.';
  end if;

  select format('%s has %s elements and run_ids %s', a.name, coalesce(a.items, 0), expected) into bad
  from (values (1, 'step_slugs', cardinality(step_slugs)), (2, 'task_indexes', cardinality(task_indexes)),
               (3, 'claim_nos', cardinality(claim_nos)), (4, 'results', cardinality(results)),
               (5, 'outputs', coalesce(cardinality(outputs), expected)), (6, 'errors', coalesce(cardinality(errors), expected)),
               (7, 'retry_afters', coalesce(cardinality(retry_afters), expected))) as a (place, name, items)
  where a.items is distinct from expected
  order by a.place
  limit 1;
  if bad is not null then
    raise exception '%', bad
      using errcode = 'invalid_parameter_value', hint = 'The arrays are parallel: one element an item in each.';
  end if;

  select r.result into bad
  from unnest(results) r (result)
  where r.result is null or r.result not in ('completed', 'failed', 'permanent')
  limit 1;
  if found then
    raise exception 'result "%" is not known', bad
      using errcode = 'invalid_parameter_value', hint = 'Use completed, failed or permanent.';
  end if;
end
$$;
