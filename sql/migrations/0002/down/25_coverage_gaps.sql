-- The marks of hosts that could not start for want of coverage.
drop table if exists pgflow.coverage_gaps;
