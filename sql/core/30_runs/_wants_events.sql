-- Whether anybody is told of events: realtime.send is there, or a site has replaced the body of emit_event.
-- Locks: none.
create function pgflow._wants_events()
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return to_regprocedure('realtime.send(jsonb,text,text,boolean)') is not null or exists (
    select from pg_catalog.pg_proc p
    where p.oid = 'pgflow.emit_event(jsonb,text,text,boolean)'::regprocedure and p.prosrc <> ' select ');
end
$$;
