-- Raises 22023 unless a new flow may have its slug and those of its steps: what is_valid_slug asks, no _ at the start or
-- the end, no __ (private queues are named flow__step), and no two steps that differ by case alone. Flows that were made
-- before these rules go on.
create function pgflow._check_new_slugs(deployment jsonb)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  perform pgflow._raise_problems(
    format('flow "%s" cannot be made', deployment ->> 'flowSlug'),
    array(
      select format('%s "%s" is not valid: no _ at its start or end and no __', n.what, n.name)
      from (
        select 0 as place, 'the slug' as what, deployment ->> 'flowSlug' as name
        union all
        select s.step_index + 1, 'step slug', s.step_slug from pgflow._deployment_steps(deployment) as s
      ) n
      where n.name ~ '^_|_$|__'
      order by n.place)
    || array(
      select format('step slug "%s" is used %s times (ignoring case)', min(s.step_slug), count(*))
      from pgflow._deployment_steps(deployment) as s
      group by lower(s.step_slug)
      having count(*) > 1
      order by 1),
    'invalid_parameter_value', 'Choose other slugs.');
end
$$;
