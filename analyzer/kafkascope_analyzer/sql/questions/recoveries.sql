-- How clients recovered from errors: what broke, how it ended, how long it took, the longest first.
select r.client_id, r.resource_kind, r.resource, r.first_error_name, r.outcome, r.start_ts as since, r.time_to_recover_ms, r.n_errors,
    r.n_wasted_requests, r.recovery_id
from recoveries r left join clients c using (client_instance_id)
where c.kind is distinct from 'broker'
order by r.time_to_recover_ms desc nulls first, r.start_ts, r.recovery_id
