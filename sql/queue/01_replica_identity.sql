-- PGMQ's own pgmq.meta has no primary key, and none here: dashboards read its columns. Without a replica identity no row
-- could be deleted once the table is published.
alter table pgmq.meta replica identity using index meta_queue_name_key;
