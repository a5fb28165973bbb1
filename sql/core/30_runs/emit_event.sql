-- A hook for a site: called for each event where realtime.send is called, with the same arguments, in the transaction
-- that brought the event about. Does nothing. Replace its body (create or replace function, same arguments) to send
-- events elsewhere; an upgrade keeps yours. What it raises becomes a warning, so no result is lost.
--
-- payload   run:* and step:* as docs/sql-reference.md has them
-- event     run:started, step:<slug>:completed, ...
-- topic     pgflow:run:<run_id>
-- private   false
create function pgflow.emit_event(payload jsonb, event text, topic text, private boolean)
returns void
language sql
set search_path = ''
as $$ select $$;
