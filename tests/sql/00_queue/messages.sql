begin;
select plan(33);
select pgmq.create('q');

-- send
select is((select array_agg(s) from pgmq.send('q', '{"n": 1}') s), array[1::bigint], 'send gives the id');
select is((select array_agg(s) from pgmq.send('q', '{"n": 2}', '{"h": 1}'::jsonb) s), array[2::bigint], 'with headers');
select is((select array_agg(s) from pgmq.send('q', '{"n": 3}', 3600) s), array[3::bigint], 'with a delay in seconds');
select is((select array_agg(s) from pgmq.send('q', '{"n": 4}', '2100-01-01'::timestamptz) s), array[4::bigint], 'with a moment');
select is((select array_agg(s) from pgmq.send('q', '{"n": 5}', '{"h": 2}'::jsonb, 0) s), array[5::bigint], 'with headers and a delay');
select is((select array_agg(s) from pgmq.send_batch('q', array['{"n": 6}', '{"n": 7}']::jsonb[]) s),
  array[6, 7]::bigint[], 'a batch gives ids in order');
select is((select array_agg(s) from pgmq.send_batch('q', array['{"n": 8}']::jsonb[], array['{"h": 3}']::jsonb[], 3600) s),
  array[8]::bigint[], 'a batch takes headers and a delay');
select throws_ok($$select pgmq.send_batch('q', array['{}']::jsonb[], array['{}', '{}']::jsonb[])$$, '22023',
  'headers has 2 elements for 1 messages', 'headers of another length are refused');
select is((select vt from pgmq.q_q where msg_id = 4), '2100-01-01'::timestamptz, 'the moment is kept');
select is((select headers from pgmq.q_q where msg_id = 2), '{"h": 1}'::jsonb, 'headers are kept');
select is((select count(*) from pgmq.send_batch('q', array[]::jsonb[])), 0::bigint, 'an empty batch sends nothing');

-- read
select is((select array_agg(r.msg_id order by r.msg_id) from pgmq.read('q', 60, 2) r), array[1, 2]::bigint[], 'reads the oldest first');
select is((select array_agg(r.msg_id order by r.msg_id) from pgmq.read('q', 60, 10) r), array[5, 6, 7]::bigint[],
  'neither what is read nor what is delayed');
select is((select r.read_ct from pgmq.q_q r where r.msg_id = 1), 1, 'a read is counted');
select is_empty($$select from pgmq.read('q', 60, 10)$$, 'nothing is left');
select is((select r.message from pgmq.set_vt('q', 1, 0) r), '{"n": 1}'::jsonb, 'set_vt gives the message back');
select is((select array_agg(r.msg_id) from pgmq.read('q', 0, 10, '{"n": 2}') r), null, 'a condition keeps others');
select is((select array_agg(r.msg_id) from pgmq.read('q', 0, 10, '{"n": 1}') r), array[1]::bigint[], 'and takes what contains it');
select is_empty($$select from pgmq.set_vt('q', 99, 0)$$, 'set_vt of a missing message gives nothing');

-- read_with_poll
select is((select array_agg(r.msg_id) from pgmq.read_with_poll('q', 60, 1, 1, 10) r), array[1]::bigint[], 'a poll that finds something returns');
select is_empty($$select from pgmq.read_with_poll('q', 60, 1, 0, 10)$$, 'one that finds nothing ends at its limit');

-- archive and delete
select ok(pgmq.archive('q', 1), 'archive of one');
select ok(not pgmq.archive('q', 1), 'again: it is not there');
select is((select array_agg(a order by a) from pgmq.archive('q', array[2, 3, 99]) a), array[2, 3]::bigint[], 'archive of many gives what was there');
select results_eq('select msg_id, message, headers from pgmq.a_q order by msg_id',
  $$values (1::bigint, '{"n": 1}'::jsonb, null::jsonb), (2, '{"n": 2}', '{"h": 1}'), (3, '{"n": 3}', null)$$, 'archived as they were');
select ok(pgmq.delete('q', 4), 'delete of one');
select is((select array_agg(d order by d) from pgmq.delete('q', array[5, 4]) d), array[5]::bigint[], 'delete of many');

-- metrics and purge
select results_eq($$select queue_name, queue_length, total_messages, queue_visible_length from pgmq.metrics('q')$$,
  $$values ('q', 3::bigint, 8::bigint, 0::bigint)$$, 'metrics');
select is(pgmq.purge_queue('q'), 3::bigint, 'purge counts');
select is((select m.newest_msg_age_sec from pgmq.metrics('q') m), null, 'an empty queue has no age');
select throws_ok($$select pgmq.read('nope', 1, 1)$$, '42P01', null, 'a missing queue is an error');

-- The batch without headers, later
select is((select count(*) from pgmq.send_batch('q', array['{"n": 20}', '{"n": 21}']::jsonb[], 3600)), 2::bigint, 'a batch takes a delay');
select is((select count(*) from pgmq.send_batch('q', array['{"n": 22}']::jsonb[], '2100-01-01'::timestamptz)), 1::bigint, 'and a moment');

select * from finish();
rollback;
