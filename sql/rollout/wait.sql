-- Wait: refused, with their names, while a worker of a replaced function works, or a
-- started task is in the hands of one. Rows standing by may live: they claim nothing.
select pgflow.rollout_wait(:'deployment');
