/*
 * The questions of doctor. A row is (level, finding, remedy). Those without
 * needs_schema ask catalogs only, which everybody may read.
 */
#include "ctl/doctor/doctor.h"

static const char server_sql[] =
    "select 'problem', 'this server is a standby: it takes no writes',"
    "   'give the address of the primary, or several with target_session_attrs=read-write'"
    " where pg_is_in_recovery()"
    " union all"
    " select 'problem', 'transactions are read-only by default',"
    "   'alter role ... or alter database ... reset default_transaction_read_only;'"
    " where not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'on'"
    " union all"
    " select 'warning', 'fsync is off: a crash of the machine may destroy the database',"
    "   'alter system set fsync = on;' where current_setting('fsync') = 'off'"
    " union all"
    " select 'warning', format('%s of %s connections are taken', s.taken, s.most),"
    "   'raise max_connections, or lower --db-connections of the hosts'"
    " from (select sum(d.numbackends) as taken, current_setting('max_connections')::int"
    "   - current_setting('superuser_reserved_connections')::int as most"
    "   from pg_stat_database d) s where s.taken > s.most * 0.9";

static const char roles_sql[] =
    "with role (name) as (values ('pgflow_worker'), ('pgflow_client'), ('pgflow_operator')),"
    " schema as (select n.oid, n.nspowner, pg_get_userbyid(n.nspowner) as owner"
    "   from pg_namespace n where n.nspname = 'pgflow')"
    " select 'problem', format('role %s does not exist', r.name),"
    "   format(e'create role %I nologin;\\nthen, as %I: select pgflow._apply_roles();',"
    "     r.name, s.owner)"
    " from role r, schema s where to_regrole(r.name) is null"
    " union all"
    " select 'problem', format('role %s may not use the schema pgflow', r.name),"
    "   format('as %I: select pgflow._apply_roles();', s.owner)"
    " from role r, schema s where to_regrole(r.name) is not null"
    "   and not has_schema_privilege(to_regrole(r.name)::oid, s.oid, 'usage')"
    " union all"
    " select 'problem', 'every user may use the schema pgflow',"
    "   format('as %I: select pgflow._apply_roles();', s.owner)"
    " from schema s where has_schema_privilege('public', s.oid, 'usage')"
    " union all"
    " select 'ok', 'not looked at: there is no schema pgflow', null"
    " where not exists (select from schema)"
    " union all"
    " select 'problem', format('user %s is no operator', session_user),"
    "   format('grant pgflow_operator to %I;', session_user)"
    " from schema s where not pg_has_role(session_user, s.nspowner, 'usage') and not exists ("
    "   select where to_regrole('pgflow_operator') is not null"
    "     and pg_has_role(session_user, to_regrole('pgflow_operator')::oid, 'usage'))";

/* Every function of every role: one that is missing may be the heartbeat's. */
static const char rights_sql[] =
    "select 'problem', format('role %s may not call %s%s', m.role_name, min(m.routine),"
    "   case when count(*) > 1 then format(' and %s more', count(*) - 1) end),"
    "   format('as %I: select pgflow._apply_roles();', (select pg_get_userbyid(n.nspowner)"
    "     from pg_namespace n where n.nspname = 'pgflow'))"
    " from pgflow.missing_grants() m group by m.role_name";

static const char storage_sql[] =
    "select 'problem', 'nothing can be written: ' || p.why,"
    "   'give the volumes of tables and WAL room; SHOW data_directory says where they are'"
    " from (select pgflow.storage_problem() as why"
    "   where not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off') p"
    " where p.why is not null";

/* Deletes and updates of a published table fail without one. */
static const char replication_sql[] =
    "select case when p.is_published then 'problem' else 'note' end,"
    "   format('%s has no replica identity: %s', t.name, case when p.is_published"
    "     then 'it is published, and every delete from it fails'"
    "     else 'once it is published, every delete from it will fail' end),"
    "   format('alter table %s replica identity %s;', t.name,"
    "     coalesce('using index ' || quote_ident(t.key), 'full'))"
    " from (select c.oid, c.oid::regclass as name, (select k.relname from pg_index i"
    "     join pg_class k on k.oid = i.indexrelid"
    "     where i.indrelid = c.oid and i.indisunique and i.indimmediate and i.indpred is null"
    "       and i.indexprs is null and i.indisvalid and not exists (select from pg_attribute a"
    "         where a.attrelid = c.oid and a.attnum = any (i.indkey) and not a.attnotnull)"
    "     order by k.relname limit 1) as key"
    "   from pg_class c join pg_namespace n on n.oid = c.relnamespace"
    "   where n.nspname in ('pgflow', 'pgmq') and c.relkind in ('r', 'p')"
    "     and (c.relreplident = 'n' or c.relreplident = 'd' and not exists ("
    "       select from pg_index i where i.indrelid = c.oid and i.indisprimary))) t"
    " cross join lateral (select exists (select from pg_publication_tables x"
    "     join pg_publication u on u.pubname = x.pubname and (u.pubdelete or u.pubupdate)"
    "     where format('%I.%I', x.schemaname, x.tablename)::regclass = t.oid) as is_published) p";

static const char queues_sql[] =
    "with kind as (select to_regnamespace('pgmq') is not null as is_there,"
    "   coalesce(obj_description(to_regnamespace('pgmq'), 'pg_namespace')"
    "     like 'Embedded message queue of pgflow-host%', false) as is_embedded,"
    "   (select e.extversion from pg_extension e where e.extname = 'pgmq') as version),"
    " stored as (select q.queue_name, c.relpersistence from pgflow.queues q"
    "   left join pg_namespace n on n.nspname = 'pgmq'"
    "   left join pg_class c on c.relnamespace = n.oid and c.relname = 'q_' || q.queue_name)"
    " select 'problem', 'the schema pgmq is gone, and every message with it',"
    "   'restore it from a backup' from kind k where not k.is_there"
    " union all"
    " select 'problem', format('PGMQ %s is older than 1.5', k.version),"
    "   'alter extension pgmq update;'"
    " from kind k where string_to_array(substring(k.version from '^[0-9]+(?:[.][0-9]+)*'), '.')"
    "   ::int[] < array[1, 5]"
    " union all"
    " select 'problem', format('queue %s has no table in PGMQ: somebody dropped it', s.queue_name),"
    "   format('restore it, or make it anew: select pgmq.create(%L); the messages of its queued "
    "tasks are then sent again', s.queue_name)"
    " from stored s, kind k where k.is_there and s.relpersistence is null"
    " union all"
    " select 'warning', format('queue %s is unlogged: a crash empties it', s.queue_name),"
    "   format('alter table pgmq.%I set logged;', 'q_' || s.queue_name)"
    " from stored s where s.relpersistence = 'u'"
    " union all"
    " select 'problem', format('queue %s: %s queued tasks have no message, the first since %s',"
    "     l.queue_name, l.tasks, date_trunc('second', l.oldest_queued_at)),"
    "   'a host at work, of whatever queue, sends them again within 15 s; if it stays, start one'"
    " from pgflow.lost_tasks() l"
    " union all"
    " select 'ok', case when k.version is not null then 'the extension PGMQ ' || k.version"
    "   when k.is_embedded then 'the embedded queue'"
    "   else 'PGMQ, loaded without its extension' end, null"
    " from kind k where k.is_there";

/* What holds rows back from vacuum. Without pg_read_all_stats the transactions of
 * other users look as if they had none. */
static const char vacuum_sql[] =
    "select case when clock_timestamp() - a.xact_start > interval '1 hour' then 'problem'"
    "   else 'warning' end,"
    "   format('process %s of %s%s holds a transaction open for %s (%s)', a.pid,"
    "     coalesce(a.usename::text, a.backend_type),"
    "     coalesce(' in ' || nullif(a.application_name, ''), ''),"
    "     date_trunc('second', clock_timestamp() - a.xact_start), a.state),"
    "   format('end it, or: select pg_terminate_backend(%s);', a.pid)"
    " from pg_stat_activity a where a.pid <> pg_backend_pid()"
    "   and (a.datname = current_database() or a.datname is null)"
    "   and (a.backend_xmin is not null or a.backend_xid is not null)"
    "   and a.backend_type is distinct from 'autovacuum worker'"
    "   and clock_timestamp() - a.xact_start >= $1::int * interval '1 second'"
    " union all"
    " select 'problem', format('prepared transaction %L is open since %s', x.gid,"
    "     date_trunc('second', clock_timestamp() - x.prepared)),"
    "   format('commit prepared %L; or rollback prepared %L;', x.gid, x.gid)"
    " from pg_prepared_xacts x where x.database = current_database()"
    "   and clock_timestamp() - x.prepared >= $1::int * interval '1 second'"
    " union all"
    " select 'problem', format('replication slot %s is not in use and holds rows back',"
    "     s.slot_name), format('select pg_drop_replication_slot(%L);', s.slot_name)"
    " from pg_replication_slots s where not s.active and s.xmin is not null"
    " union all"
    " select 'problem', 'autovacuum is off', 'alter system set autovacuum = on;'"
    " where current_setting('autovacuum') = 'off'"
    " union all"
    " select 'warning', format('autovacuum is off for %s', c.oid::regclass),"
    "   format('alter table %s reset (autovacuum_enabled);', c.oid::regclass)"
    " from pg_class c join pg_namespace n on n.oid = c.relnamespace"
    " where n.nspname in ('pgflow', 'pgmq')"
    "   and c.reloptions && array['autovacuum_enabled=false', 'autovacuum_enabled=off']"
    " union all"
    " select 'warning', format('%s.%s has %s dead rows and %s live ones', t.schemaname,"
    "     t.relname, t.n_dead_tup, t.n_live_tup),"
    "   format('vacuum (verbose) %I.%I; says what holds them', t.schemaname, t.relname)"
    " from pg_stat_user_tables t where t.schemaname in ('pgflow', 'pgmq')"
    "   and t.n_dead_tup > 100000 and t.n_dead_tup > t.n_live_tup"
    " union all"
    " select 'problem', format('transaction ids run out: %s of 2147483647 are used',"
    "     age(d.datfrozenxid)), 'vacuum (freeze);'"
    " from pg_database d where d.datname = current_database() and age(d.datfrozenxid) > 1500000000"
    " union all"
    " select 'note', 'transactions of other users cannot be seen',"
    "   format('grant pg_read_all_stats to %I;', session_user)"
    " where not pg_has_role(session_user, 'pg_read_all_stats', 'usage')";

static const char functions_sql[] =
    "select 'problem', format('%s is paused since %s: unsupported work on queue %s (%s)',"
    "     f.function_name, date_trunc('second', f.paused_at), f.pause_reason ->> 'queue',"
    "     (select string_agg(concat_ws('.', p ->> 'flowSlug', p ->> 'stepSlug'), ', ')"
    "      from jsonb_array_elements(f.pause_reason -> 'pairs') p)),"
    "   format(e'give its hosts the missing module, then: pgflowctl coverage %s\\nand: ',"
    "     f.pause_reason ->> 'queue') || case when d.deployment is null"
    "     then format('pgflowctl functions enable %s', f.function_name)"
    "     else format('go on with deployment %s, which has fenced it', d.deployment) end"
    " from pgflow.worker_functions f"
    " cross join lateral pgflow.function_fence(f.function_name) as d (deployment)"
    " where not f.enabled and f.paused_at is not null"
    " union all"
    " select 'note', format('%s is disabled%s', f.function_name,"
    "     ': deployment ' || d.deployment || ' has fenced it'),"
    "   case when d.deployment is null"
    "     then format('if its rollout is over: pgflowctl functions enable %s', f.function_name)"
    "     else 'pgflowctl rollout MANIFEST.json status says what that waits for' end"
    " from pgflow.worker_functions f"
    " cross join lateral pgflow.function_fence(f.function_name) as d (deployment)"
    " where not f.enabled and f.paused_at is null"
    /* Not where that is what the last deployment of it wants, as of one that is retired. */
    "   and not coalesce((select d.applied_at >= d.fenced_at and not e.enabled"
    "     from pgflow.deployment_manifest d"
    "     cross join lateral pgflow.manifest_entries(d.deployment) e"
    "     where e.function_name = f.function_name"
    "       and d.fenced_at is not null"
    "     order by d.fenced_at desc limit 1), false)"
    " union all"
    " select 'warning', format('%s is enabled and has no live worker%s', m.function_name,"
    "     coalesce('; the last heartbeat was '"
    "       || date_trunc('second', clock_timestamp() - m.last_heartbeat_at) || ' ago', '')),"
    "   format('start its hosts, or: pgflowctl functions disable %s', m.function_name)"
    " from pgflow.workers_missing() m"
    " union all"
    " select 'warning', format('worker %s of function %s on queue %s (%s, pid %s) stands by for "
    "good,"
    " %s: %s', w.worker_id, w.function_name, w.queue_name, w.host, w.pid, w.reason, w.detail),"
    "   case w.reason when 'wrong_modules' then format(e'give it the modules of the manifest, or"
    " for a hot fix: pgflowctl functions unpin %s', w.function_name)"
    "     else 'start it with a --function that a manifest names for the queue, or stop it' end"
    " from pgflow.fenced_workers() w where w.stands_by_for is null"
    " union all"
    " select 'problem', format('%s on queue %s: the modules of %s do not cover the queue, so %s not"
    " start', w.function_name, lower(w.queue_name), coalesce(string_agg(format('host %s, pid %s',"
    "     w.info ->> 'host', w.info ->> 'pid'), '; '), ''), case count(*) when 1 then 'it does'"
    "     else 'they do' end),"
    "   format('what is missing: pgflowctl coverage %s; give its hosts those modules too',"
    "     lower(w.queue_name))"
    " from pgflow.workers w where pgflow.worker_waits_for_coverage(w.worker_id)"
    " group by w.function_name, lower(w.queue_name)"
    " union all"
    " select 'warning', format('worker %s cannot run %s: the module does not start', w.worker_id,"
    "     string_agg(distinct p.flow_slug, ', ')), 'see its log: module_held'"
    " from pgflow.workers w join pgflow.worker_task_pairs p using (worker_id)"
    " where p.held and pgflow.worker_is_live(w.worker_id) group by w.worker_id"
    " union all"
    " select 'warning', format('deployment %s is fenced since %s and not applied', d.deployment,"
    "     date_trunc('second', clock_timestamp() - d.fenced_at)),"
    "   'pgflowctl rollout MANIFEST.json status says what it waits for'"
    " from pgflow.deployment_manifest d"
    " where d.fenced_at is not null and (d.applied_at < d.fenced_at or d.applied_at is null)"
    /* Unless all of it belongs to later ones. */
    "   and exists (select from pgflow.manifest_entries(d.deployment) e"
    "     where not exists (select from pgflow.deployment_manifest n"
    "       cross join lateral pgflow.manifest_entries(n.deployment) m"
    "       where n.fenced_at > d.fenced_at and m.function_name = e.function_name))";

static const char work_sql[] =
    "with live as (select w.worker_id, lower(w.queue_name) as queue_name from pgflow.workers w"
    "   where not w.standby and pgflow.worker_is_live(w.worker_id)),"
    " gap as (select q.queue_name, c.flow_slug, c.step_slug,"
    "     c.reasons && array['executable', 'recoverable', 'draining'] as has_work,"
    "     'executable' = any (c.reasons) as waits"
    "   from pgflow.queues q cross join lateral pgflow.queue_coverage(q.queue_name) c"
    "   where not exists (select from live l cross join lateral pgflow.served_pairs(l.worker_id)"
    "     p where l.queue_name = q.queue_name and p.flow_slug = c.flow_slug"
    "       and p.step_slug = c.step_slug and not p.held))"
    " select case when bool_or(g.has_work) then 'problem' else 'warning' end,"
    "   format('queue %s: no live worker for %s%s', g.queue_name,"
    "     (array_agg(concat_ws('.', g.flow_slug, g.step_slug) order by g.waits desc, "
    "g.has_work desc, g.flow_slug, g.step_slug))[1],"
    "     case when count(*) > 1 then format(' and %s more', count(*) - 1) end),"
    "   format('start a host with those modules; all of them: pgflowctl coverage %s',"
    "     g.queue_name)"
    " from gap g group by g.queue_name"
    " union all"
    " select 'problem', format('%s tasks are past the time of their recovery, the oldest by %s',"
    "     count(*), date_trunc('second', max(clock_timestamp() - t.recover_at))),"
    "   'every live host recovers them; without one: select pgflow.requeue_stalled_tasks();'"
    " from pgflow.step_tasks t where t.status = 'started'"
    "   and t.recover_at < clock_timestamp() - interval '1 minute' having count(*) > 0"
    " union all"
    " select 'problem', format('run %s of %s has not ended, and no task of it is left', r.run_id,"
    "     r.flow_slug), format('report it, with: pgflowctl run %s --json', r.run_id)"
    " from (select r.* from pgflow.runs r where r.status = 'started' and not exists ("
    "   select from pgflow.step_tasks t where t.run_id = r.run_id"
    "     and t.status in ('queued', 'started')) limit 5) r"
    " union all"
    " select 'warning', format('%s tasks failed in the last day because their worker died each"
    " time', count(*)), 'pgflowctl runs --status failed; then look into the logs of their hosts'"
    " from pgflow.step_tasks t where t.status = 'failed'"
    "   and t.permanently_stalled_at > clock_timestamp() - interval '1 day' having count(*) > 0";

const struct doctor_check doctor_checks[] = {
    {.name = "server", .fine = "writable", .sql = server_sql},
    {.name = "roles", .fine = "three", .sql = roles_sql},
    {.name = "rights",
     .fine = "each role may call what it should",
     .sql = rights_sql,
     .needs_schema = true},
    {.name = "storage", .fine = "a megabyte was written", .sql = storage_sql, .needs_schema = true},
    {.name = "queues", .fine = "none", .sql = queues_sql, .needs_schema = true},
    {.name = "replication",
     .fine = "every table has a replica identity",
     .sql = replication_sql,
     .needs_schema = true},
    {.name = "vacuum", .fine = "nothing holds it back", .sql = vacuum_sql, .takes_age = true},
    {.name = "functions",
     .fine = "none paused, none without a worker",
     .sql = functions_sql,
     .needs_schema = true},
    {.name = "work", .fine = "nothing is stuck", .sql = work_sql, .needs_schema = true},
};
const size_t doctor_check_count = sizeof doctor_checks / sizeof doctor_checks[0];
