-- The replica identity of the embedded queue's list.
do $$
begin
  if obj_description(to_regnamespace('pgmq'), 'pg_namespace') like 'Embedded message queue of pgflow-host%' then
    alter table pgmq.meta replica identity default;
  end if;
end
$$;
