-- The embedded queue's list can be published: see sql/queue/00_schema.sql.
do $$
begin
  if obj_description(to_regnamespace('pgmq'), 'pg_namespace') like 'Embedded message queue of pgflow-host%' then
    alter table pgmq.meta replica identity using index meta_queue_name_key;
  end if;
end
$$;
