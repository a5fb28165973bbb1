-- One row of a claim's answer: one message of the batch, or one row that says
-- why there is none (outcome 'empty' or 'fenced').
--
-- outcome      started | busy | stale | foreign | held | unsupported | fenced | empty
-- attempt      counted by this claim, from 1; max_attempts the effective limit
-- claim_no     the fence that results and releases must carry
-- timeout      effective timeout of the step, seconds
-- input        the handler's input; null with input_error when it cannot be built
-- flow_input   the run's input, on the first row of each run that wants it
-- body_mismatch  the message's body does not name the task that owns it
-- reason       of 'fenced': unknown | deprecated | stopped | standby | other_queue | must_stop
-- due_in_ms    of 'empty': until the next message is visible; null: queue is empty; of 'started',
--              zero or less: since its message was visible; null: read before this claim
create type pgflow.claim_row as (
  outcome text,
  queue_name text,
  msg_id bigint,
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  max_attempts int,
  claim_no int,
  timeout int,
  input jsonb,
  flow_input jsonb,
  input_error text,
  body_mismatch boolean,
  reason text,
  due_in_ms bigint
);
