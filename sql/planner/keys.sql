-- For entry points that touch runs, states or tasks by key. One index look-up per item, in the order of the items, is all
-- that remains, whatever the planner believes of a table, and one plan serves every call of a session. Internal functions
-- and the checks of foreign keys inherit it.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
