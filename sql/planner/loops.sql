-- For internal functions that may be reached without an entry point's settings: nested loops over index scans. Bitmaps stay
-- allowed, for a queue's messages are read by many ids at once, and each call may be planned for its own arguments, unless
-- the function says otherwise behind it.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
