-- When the next message of a queue is visible, as _next_due says it, looked for from the session's low-water mark upward; and
-- from where on messages are alive.
-- Locks: none. Errors: 42P01, no such queue.
create function pgflow._due_from_low_water(
  queue_name text, moment timestamptz, out next_due timestamptz, out lowest timestamptz)
language plpgsql
set search_path = ''
as $$
declare
  name constant text := pgflow._low_water_name('due ' || lower(queue_name));
  seen constant pg_snapshot := pg_current_snapshot();
begin
  next_due := pgflow._next_due(queue_name, pgflow._low_water(name, moment));
  lowest := pgflow._move_low_water(name, moment, seen, next_due, '1 minute', '5 s');
end
$$;
