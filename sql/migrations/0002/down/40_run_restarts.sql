-- Which run was made from which.
drop table if exists pgflow.run_restarts;
