-- The triggers that note whose message is taken off a queue.
do $$
declare
  statement text;
begin
  for statement in
    select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)
    from pg_trigger t
    where t.tgfoid = to_regprocedure('pgflow._note_lost_messages()')
  loop
    execute statement;
  end loop;
end
$$;
