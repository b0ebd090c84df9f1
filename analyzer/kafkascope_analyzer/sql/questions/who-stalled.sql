-- Clients and groups that waited for the cluster for 1 s or longer, the longest first, and what made them wait.
select
    coalesce(s.client_id, s.client_ip, 'group ' || s.group_id) as who,
    s.kind,
    coalesce(s.topic || coalesce('-' || s.partition, ''), s.group_id, s.transactional_id) as what,
    s.from_ts as since,
    s.waited_ms,
    s.to_ns is null as still_waiting,
    s.error_names as errors,
    i.kind as incident,
    i.subject as incident_at,
    s.stall_id
from stalls s left join incidents i using (incident_id)
order by s.waited_ms desc, s.stall_id
