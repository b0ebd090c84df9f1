-- One row per client id, address and rack that it says it is in (client.rack), with the first request that says so.
select r.cluster, r.client_id, r.client_ip, rack, count(*) as n_requests, arg_min(request_id, r.ts_ns) as request_id
from (
    select request_id, rack_id as rack from messages.Fetch_request
    union all
    select request_id, rack_id from messages.ConsumerGroupHeartbeat_request
) join requests r using (request_id)
where rack <> ''
group by r.cluster, r.client_id, r.client_ip, rack
