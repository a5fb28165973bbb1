-- A run on its way to be restarted, as _restart_runs hands it on in arrays.
--
-- place        in the caller's list, from 1
-- run_id       the ended run
-- flow_slug    its flow; null: there is no such run
-- new_run_id   the run to make
-- taken        steps whose outcome the new run takes over
-- cascades     those of them that were skipped and take their dependents with them
-- partial      map steps of which it takes over the completed elements
-- refused      why there is no new run; null: there is one
create type pgflow._restart as (
  place bigint,
  run_id uuid,
  flow_slug text,
  new_run_id uuid,
  taken text[],
  cascades text[],
  partial text[],
  refused text
);
