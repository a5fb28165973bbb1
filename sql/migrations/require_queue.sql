  -- Which message queue: PGMQ >= 1.5 when it is installed or available, else
  -- the embedded one (sql/queue). Same schema, layout and signatures.
  queue_is_there := pg_catalog.to_regnamespace('pgmq') is not null;
  if queue_is_there then
    if pg_catalog.to_regprocedure('pgmq.read(text,integer,integer,jsonb)') is null
       or pg_catalog.to_regprocedure('pgmq.send(text,jsonb,jsonb,timestamp with time zone)') is null then
      raise exception 'schema "pgmq" exists and is not PGMQ 1.5 or later'
        using errcode = 'object_not_in_prerequisite_state',
              detail = 'Its functions pgmq.read(queue_name, vt, qty, conditional) or pgmq.send(queue_name, msg, headers, delay) are missing.',
              hint = 'Update it first: alter extension pgmq update.';
    end if;
  elsif exists (
    select from pg_catalog.pg_available_extensions e
    where e.name = 'pgmq'
      and pg_catalog.string_to_array(
            substring(e.default_version from '^[0-9]+(?:\.[0-9]+)*'), '.')::int[] >= array[1, 5]
  ) then
    create extension pgmq;
    queue_is_there := true;
  end if;
  if not queue_is_there then
@QUEUE_FILES@
  end if;
