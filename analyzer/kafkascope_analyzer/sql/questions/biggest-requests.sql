-- The 50 largest requests and responses, by the bytes of both.
select ts, client_id, node_id, api_name, request_bytes, response_bytes, n_partitions, n_records, broker_us, queued_us, request_packet_no, request_id
from requests
order by coalesce(request_bytes, 0) + coalesce(response_bytes, 0) desc, request_id
limit 50
