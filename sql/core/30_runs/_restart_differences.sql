-- What of a flow's steps a run of another flow may take over: one row for each step that both have.
--
-- differs   why finished work of the step cannot be used there: another type, other dependencies, another contract or
--           none; null: it can
-- decides   its condition and what follows from it are the same, so a skipped step stays skipped
-- For one and the same flow nothing differs.
-- Locks: none.
create function pgflow._restart_differences(source text, target text)
returns table (step_slug text, differs text, decides boolean)
language sql
stable
set search_path = ''
as $$
  select t.step_slug,
         case
           when source = target then null
           when s.step_type <> t.step_type
             then format('step "%s" is %s in flow "%s" and %s in "%s"', t.step_slug, s.step_type, source, t.step_type, target)
           when s.deps <> t.deps
             then format('step "%s" depends on {%s} in flow "%s" and on {%s} in "%s"', t.step_slug,
                         array_to_string(s.deps, ', '), source, array_to_string(t.deps, ', '), target)
           when s.contract is distinct from t.contract or s.contract is null
             then format('the contract of step "%s" is %s in flow "%s" and %s in "%s"', t.step_slug,
                         coalesce(quote_literal(s.contract), 'not stated'), source,
                         coalesce(quote_literal(t.contract), 'not stated'), target)
         end,
         s.step_type = t.step_type and s.deps = t.deps
           and s.required_input_pattern is not distinct from t.required_input_pattern
           and s.forbidden_input_pattern is not distinct from t.forbidden_input_pattern
           and s.when_unmet = t.when_unmet and s.when_exhausted = t.when_exhausted
  from (
    select x.*, array(select d.dep_slug from pgflow.deps d
                      where d.flow_slug = x.flow_slug and d.step_slug = x.step_slug
                      order by d.dep_slug collate "C") as deps
    from pgflow.steps x
    where x.flow_slug = target
    offset 0
  ) t
  cross join lateral (
    select x.*, array(select d.dep_slug from pgflow.deps d
                      where d.flow_slug = x.flow_slug and d.step_slug = x.step_slug
                      order by d.dep_slug collate "C") as deps
    from pgflow.steps x
    where x.flow_slug = source and x.step_slug = t.step_slug
    offset 0
  ) s
$$;
