-- Internal: one classified message of a batch, handed from statement to
-- statement of one claim.
--
-- place        position in the answer          read_ct   as it is after this read
-- present      this claim holds the message row; false: another session does; null:
--              the queue has no such message
-- visible_at   when the message is visible again; null: leave it as the read left it
-- due_in_ms    of 'busy': until its recovery deadline (negative: passed); of 'started': for how
--              long its message was visible, negative; null: read before this claim
-- root         the step has no dependencies    map       it is a map step
create type pgflow._claim_item as (
  place int,
  msg_id bigint,
  read_ct int,
  present boolean,
  outcome text,
  reason text,
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  max_attempts int,
  claim_no int,
  timeout int,
  body_mismatch boolean,
  due_in_ms bigint,
  visible_at timestamptz,
  root boolean,
  map boolean,
  wants_flow_input boolean
);

-- Internal: the messages of a batch as the read left them, by position. due_ats: when they became
-- visible; null: the claim did not read them.
create type pgflow._message_batch as (
  msg_ids bigint[],
  read_cts int[],
  bodies jsonb[],
  present boolean[],
  due_ats timestamptz[]
);
