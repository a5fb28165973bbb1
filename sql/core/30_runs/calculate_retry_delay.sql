-- Seconds until the next attempt after attempts_count of them: base_delay doubled each time, at most a day.
create function pgflow.calculate_retry_delay(base_delay numeric, attempts_count int)
returns int
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  -- The exponent is bounded so that double precision cannot overflow before the day caps it.
  return floor(least(86400, base_delay::float8 * power(2::float8, least(greatest(attempts_count, 0), 900))))::int;
end
$$;
