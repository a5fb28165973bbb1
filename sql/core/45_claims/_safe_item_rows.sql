-- The answer of a claim, where an input that cannot be built or sent costs its
-- own task only: it comes with input null and input_error. In one statement;
-- when that raises, or holds something huge, item by item.
-- Limit of input and flow_input together as text: 256 MiB, so that a row stays
-- far below the protocol's 1 GiB whatever escapes it needs.
-- Locks: none.
create function pgflow._safe_item_rows(queue_name text, items pgflow._claim_item[], every_row boolean)
returns setof pgflow.claim_row
language plpgsql
set search_path = ''
as $$
declare
  limit_bytes constant int := 256 * 1024 * 1024;
  -- Six bytes of text for one stored is the most that escapes can take.
  worth_measuring constant int := limit_bytes / 6;
  answer pgflow.claim_row[];
  item pgflow._claim_item;
  one pgflow.claim_row;
  text_size bigint;
  runs_served uuid[] := array[]::uuid[];
begin
  begin
    answer := pgflow._item_rows(queue_name, items, every_row);
  exception when others then
    answer := null;
  end;
  if answer is not null and not exists (
    select from unnest(answer) a
    where pg_column_size(a.input) > worth_measuring or pg_column_size(a.flow_input) > worth_measuring
  ) then
    return query select a.* from unnest(answer) a;
    return;
  end if;

  answer := null;
  foreach item in array items loop
    begin
      one := (pgflow._item_rows(queue_name, array[item], every_row))[1];
      if not every_row and one.run_id = any (runs_served) then
        one.flow_input := null;
      end if;
      if pg_column_size(one.input) > worth_measuring or pg_column_size(one.flow_input) > worth_measuring then
        text_size := octet_length(one.input::text) + coalesce(octet_length(one.flow_input::text), 0);
        if text_size > limit_bytes then
          raise exception 'the input is % bytes long, the limit is %', text_size, limit_bytes
            using errcode = 'program_limit_exceeded';
        end if;
      end if;
      if one.flow_input is not null then
        runs_served := runs_served || one.run_id;
      end if;
    exception when others then
      one := row(
        item.outcome, lower(queue_name), item.msg_id, item.flow_slug, item.run_id, item.step_slug,
        item.task_index, item.attempt, item.max_attempts, item.claim_no, item.timeout, null, null,
        'the input cannot be built: ' || sqlerrm, item.body_mismatch, item.reason, item.due_in_ms);
    end;
    return next one;
  end loop;
end
$$;
