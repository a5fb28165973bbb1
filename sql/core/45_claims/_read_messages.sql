-- _read_due_messages for who remembers nothing of the queue. Locks: as there.
create function pgflow._read_messages(queue_name text, qty int)
returns pgflow._message_batch
language plpgsql
set search_path = ''
as $$
begin
  return pgflow._read_due_messages(queue_name, qty, '-infinity');
end
$$;
