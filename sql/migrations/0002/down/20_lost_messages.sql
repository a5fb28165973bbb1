-- Notes of messages that were taken off a queue.
drop table if exists pgflow.lost_messages;
