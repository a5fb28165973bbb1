-- Functions that only calls begun under version 1 of the schema still reach: they answer as those that took their place.
begin;
select plan(2);
select pgflow_test.chain('f', '{a}');
select is(pgflow._read_messages('f', 10), pgflow._read_due_messages('f', 10, '-infinity'), 'an empty queue is read alike');
select pgflow.start_flow('f', '{"x": 1}');
update pgmq.q_f set vt = clock_timestamp() - interval '1 hour';
select is(pgflow._read_messages('f', 10), pgflow._read_due_messages('f', 10, '-infinity'), 'and one with a message');
select * from finish();
rollback;
