-- Refusals with one reason and with several, and how they are told.
begin;
select plan(6);

-- Message, detail and hint of what a statement raises.
create function pg_temp.told(statement text, out message text, out detail text, out hint text)
language plpgsql
as $$
begin
  execute statement;
exception when others then
  get stacked diagnostics message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
end
$$;

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'step', '{a,b}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'routed', '{a,b}', '{"a": "q", "b": "q"}'));

select is(t::text, row('alias "v" cannot switch to flow "v2": queue "q" has no live worker', '',
    'Start or repair those workers, or force the switch: tasks then wait for workers.')::text,
  'one reason is said once')
from pg_temp.told($$ select pgflow.activate_flow('v', 'v2') $$) t;
select pgflow_test.put_run('v1');
select is(t.detail, e'1 started run\nalias "v" points at it', 'all of them, in the detail')
from pg_temp.told($$ select pgflow.retire_flow('v1') $$) t;
select is(t.detail, '', 'a manifest with one problem repeats nothing')
from pg_temp.told($$ select pgflow.load_manifest('{"deployment": "d", "entries": []}') $$) t;
select is(t.hint, 'docs/operations/rollout.md says what each field must be.', 'and says where to read on')
from pg_temp.told($$ select pgflow.load_manifest('{"deployment": "d", "entries": []}') $$) t;

-- Numbers
select pgflow_test.put_worker('q', 'fn', '{other/x}');
select matches(t.message, 'of function "fn" does not run steps "a", "b"$', 'several steps are steps')
from pg_temp.told($$ select pgflow.activate_flow('v', 'v2') $$) t;
select pgflow.load_manifest('{"deployment": "d", "entries": [{"functionName": "fn", "serves": {"flow": "v2"}, "action": "add", "enabled": true, "startMode": "process"}]}');
select pgflow.fence_manifest('d');
update pgflow.worker_functions set enabled = true;
select matches(array_to_string(c.gaps, ' '), 'does not run steps "a" of flow "v2", "b" of flow "v2"$', 'in the confirmation, too')
from pgflow.manifest_coverage('d') c;

select * from finish();
rollback;
