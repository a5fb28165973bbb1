begin;
select plan(13);
select pgmq.create('one');
select pgmq.create('Two');
select count(*) from pgmq.send_batch('one', array['{"n": 1}', '{"n": 2}', '{"n": 3}']::jsonb[]);
select count(*) from pgmq.send_batch('two', array['{"n": 1}', '{"n": 2}']::jsonb[]);

-- _archive
select lives_ok($$select pgflow._archive('{one,two,one,gone,one,one}', '{3,1,1,1,99,null}')$$,
  'missing messages, queues and null ids are passed over');
select is((select array_agg(a) from pgflow_test.archived('one') a), array[1, 3]::bigint[], 'each queue gets its own');
select is((select array_agg(a) from pgflow_test.archived('two') a), array[1]::bigint[], 'by the pair, never the id alone');
select lives_ok($$select pgflow._archive('{}', '{}')$$, 'nothing to archive is fine');
select lives_ok($$select pgflow._archive(null, null)$$, 'so are nulls');

-- set_vt_batch
select is((select array_agg(s.msg_id order by s.msg_id) from pgflow.set_vt_batch('one', '{2,99}', '{3600,1}') s),
  array[2]::bigint[], 'set_vt_batch gives the messages that exist');
select ok((select vt > clock_timestamp() + interval '59 minutes' from pgmq.q_one where msg_id = 2), 'each gets its own offset');
select is_empty($$select pgflow.set_vt_batch('one', null, null)$$, 'nothing for nulls');
select is_empty($$select pgflow.set_vt_batch('one', '{2}', null)$$, 'for one of them neither');
select is_empty($$select pgflow.set_vt_batch('one', '{null}', '{1}')$$, 'nor for a null in an array');
select throws_ok($$select pgflow.set_vt_batch('one', '{2}', '{1,2}')$$, '22023',
  'set_vt_batch: 1 msg_ids and 2 vt_offsets', 'arrays of different length are refused');
select throws_ok($$select pgflow.set_vt_batch('gone', '{2}', '{1}')$$, '42P01', null, 'a missing queue is an error');

-- _notify is tried from outside a transaction in concurrency/notify_test.py
select lives_ok(format('select pgflow._notify(array[%L, null])', repeat('q', 47)),
  'the longest queue name fits a channel');

select * from finish();
rollback;
