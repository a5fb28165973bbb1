-- Deprecate the workers of the replaced functions that work, live or silent, and those of
-- other code that stand by: in a transaction of its own, after the fence has committed.
-- Hosts that stand by with the modules of the manifest stay.
select pgflow.rollout_deprecate(:'deployment') as deprecated;
