-- Moves a session's low-water mark (_low_water) after a look from it upward, and returns where it is then.
--
-- moment           the time before the look
-- seen             a snapshot from before the look
-- due              the first time found; null: none
-- life, idle_life  how long the mark is believed, since it began and since nothing was due. Then the next look is from
--                  the start: what came in below the mark all the same (a clock set back, a time written by hand) is found.
-- It moves in two looks. The first notes `due`, the time, and the next transaction id; the second comes when all
-- transactions with a lower one have ended, and finds nothing below `due` again. Who began in between has an id by the
-- time it reads the clock, so its rows lie behind the time of the first look; the margin is for those that read the
-- clock just before. A transaction that stays open keeps the mark where it is, as it keeps a vacuum from its work.
-- The time noted is that of the transaction's start, because age() keeps its first answer to the end of the
-- transaction; in one that has an id itself, age() tells that one, and the mark stays.
-- A mark is a setting of the session: no row and no transaction id is taken; a rollback moves it back.
-- Locks: none.
create function pgflow._move_low_water(
  name text, moment timestamptz, seen pg_snapshot, due timestamptz, life interval, idle_life interval)
returns timestamptz
language plpgsql
set search_path = ''
as $$
declare
  margin constant interval := '200 ms';
  id_mask constant bigint := 4294967295;
  mark jsonb := nullif(current_setting(name, true), '')::jsonb;
  known bigint := pg_snapshot_xmax(seen)::text::bigint;
  lowest timestamptz := '-infinity';
begin
  if moment >= (mark ->> 'seen_at')::timestamptz and moment < (mark ->> 'ends')::timestamptz then
    lowest := mark ->> 'floor';
    if pg_current_xact_id_if_assigned() is not null
       or (mark ->> 'next_id')::bigint > pg_snapshot_xmin(seen)::text::bigint then
      return lowest;
    elsif due is null or due >= (mark ->> 'due')::timestamptz then
      lowest := greatest(lowest, least((mark ->> 'due')::timestamptz, (mark ->> 'seen_at')::timestamptz - margin));
    end if;
  elsif pg_current_xact_id_if_assigned() is not null then
    return lowest;
  else
    mark := jsonb_build_object('began', moment);
  end if;

  -- Ids are of 64 bits; age() counts in 32, from 3, the first.
  known := known + ((age('3'::xid)::bigint + 3 - known) & id_mask);
  perform set_config(name, jsonb_build_object(
    'began', mark -> 'began',
    'ends', case when due <= moment then (mark ->> 'began')::timestamptz + life
                 else least((mark ->> 'ends')::timestamptz, moment + idle_life) end,
    'floor', lowest, 'due', coalesce(due, 'infinity'), 'seen_at', transaction_timestamp(), 'next_id', known)::text, false);
  return lowest;
end
$$;
