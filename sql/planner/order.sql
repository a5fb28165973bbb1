-- For one table that is read in the order of an index and left early, or by its ids: no scan that reads everything before
-- the first row comes.
set enable_seqscan = off
set enable_bitmapscan = off
