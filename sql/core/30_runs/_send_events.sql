-- Sends what existing clients listen for, in the order of what happened: new runs, changed steps, ended runs. Each
-- event is made from the row as this call leaves it, so a step that opened and completed at once is one event.
--
-- Topic pgflow:run:<run_id>. Events run:started|completed|failed and step:<slug>:started|completed|failed|skipped; the
-- payload's event_type has no slug. A cancelled run is told as failed, with the reason: clients know no other end.
-- Told are realtime.send, where it exists (by a dynamic statement for that reason), and emit_event, the hook of a site.
-- Whether anybody listens is asked by the callers (_wants_events).
-- Events are news, not state: what raises here is a warning and takes no result with it.
-- Locks: none; the caller holds the runs.
create function pgflow._send_events(new_runs uuid[], steps pgflow._step_ref[], reason text default null)
returns void
language plpgsql
set search_path = ''
as $$
declare
  names text[];
  run_ids uuid[];
  payloads jsonb[];
begin
  with event as (
    select 1 as phase, n.place, n.run_id, 'run:started' as name, pgflow._run_event(r, 'started', null) as payload
    from unnest(new_runs) with ordinality as n (run_id, place)
    join pgflow.runs r on r.run_id = any (array[n.run_id])
    union all
    select 2, c.place, c.run_id, format('step:%s:%s', st.step_slug, st.status), pgflow._step_event(st)
    from (
      select x.run_id, x.step_slug, min(x.place) as place
      from unnest(steps) with ordinality as x (run_id, flow_slug, step_slug, note, place)
      group by x.run_id, x.step_slug
    ) c
    join pgflow.step_states st on st.run_id = any (array[c.run_id]) and st.step_slug = c.step_slug
    where st.status <> 'created'
    union all
    select 3, 0, r.run_id, case r.status when 'completed' then 'run:completed' else 'run:failed' end,
           pgflow._run_event(r, r.status, reason)
    from pgflow.runs r
    where r.run_id = any (new_runs || array(select x.run_id from unnest(steps) x)) and r.status <> 'started'
  )
  select array_agg(e.name), array_agg(e.run_id), array_agg(e.payload)
  into names, run_ids, payloads
  from (select * from event order by phase, place, run_id) e;

  -- A block each: when one of the two raises, the other has told nevertheless.
  begin
    if to_regprocedure('realtime.send(jsonb,text,text,boolean)') is not null then
      execute $send$
        select realtime.send(e.payload, e.name, 'pgflow:run:' || e.run_id, false)
        from unnest($1, $2, $3) with ordinality as e (payload, name, run_id, place)
        order by e.place
      $send$ using payloads, names, run_ids;
    end if;
  exception when others then
    raise warning 'pgflow: events were not sent: %', sqlerrm using errcode = sqlstate;
  end;
  perform pgflow.emit_event(e.payload, e.name, 'pgflow:run:' || e.run_id, false)
  from unnest(payloads, names, run_ids) with ordinality as e (payload, name, run_id, place)
  order by e.place;
exception when others then
  raise warning 'pgflow: events were not sent: %', sqlerrm using errcode = sqlstate;
end
$$;
