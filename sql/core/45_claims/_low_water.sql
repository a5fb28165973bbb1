-- What a session remembers of an index in order of time: before this moment nothing in it is alive. Rows that are gone
-- keep their place in an index until a vacuum; without the mark, whoever asks for the first one passes all of them.
-- '-infinity' where nothing is remembered, or no longer (_move_low_water).
-- name: of the setting that keeps it (_low_water_name). moment: the time now.
-- Locks: none.
create function pgflow._low_water(name text, moment timestamptz)
returns timestamptz
language plpgsql
stable
set search_path = ''
as $$
declare
  mark jsonb := nullif(current_setting(name, true), '')::jsonb;
begin
  return case when moment >= (mark ->> 'seen_at')::timestamptz and moment < (mark ->> 'ends')::timestamptz
              then (mark ->> 'floor')::timestamptz
              else '-infinity' end;
end
$$;
