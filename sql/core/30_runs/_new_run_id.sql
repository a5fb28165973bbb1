-- A new run id: a UUID of version 7, so that ids made together lie together. The keys of runs, states and tasks start
-- with it: a batch then works on a few index pages, not on one random page per row, and writes as few to the log.
-- 74 of its bits are random, from a cryptographic source: the id of a run is also what allows to read it.
-- plpgsql keeps its plan; a function in SQL is parsed and planned by each statement that calls it.
create function pgflow._new_run_id()
returns uuid
language plpgsql
volatile
parallel safe
set search_path = ''
as $$
begin
  -- Bytes 1 to 6 are the time in ms; bits 52 and 53 turn version 4 of the random rest into 7.
  return encode(set_bit(set_bit(overlay(
      uuid_send(gen_random_uuid())
      placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
      from 1 for 6), 52, 1), 53, 1), 'hex')::uuid;
end
$$;
