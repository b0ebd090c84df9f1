-- The 50 requests that a broker took longest for, without those that are meant to wait (Fetch, JoinGroup, SyncGroup).
select ts, client_id, node_id, api_name, broker_us, queued_us, error_name, request_bytes, response_bytes, request_packet_no, request_id
from requests
where broker_us is not null and api_name not in ('Fetch', 'ShareFetch', 'JoinGroup', 'SyncGroup')
order by broker_us desc, request_id
limit 50
