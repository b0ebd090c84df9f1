-- Rebalances of groups by time: what began them, how long they took, who was the last to join.
select start_ts as since, group_id, group_protocol as protocol, generation, trigger, duration_ms, n_members, last_joiner, rebalance_id
from rebalances
order by start_ts, group_id, generation
