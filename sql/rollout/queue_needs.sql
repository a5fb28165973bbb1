-- What every worker of a queue must run now, why, and how much of it waits there.
select flow_slug, step_slug, array_to_string(c.reasons, ', ') as reasons,
       coalesce(s.depth, 0) as queued, s.oldest_age, coalesce(s.started, 0) as started
from pgflow.queue_coverage(:'queue') as c
left join pgflow.queue_stats(:'queue') as s using (flow_slug, step_slug);
