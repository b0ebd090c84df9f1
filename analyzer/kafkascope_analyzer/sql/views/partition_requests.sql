-- One row per request and topic-partition, with what its response says: the table partitions has a row for each of both.
select
    p.request_id,
    p.conn_id,
    p.cluster,
    min(p.ts) as ts,
    min(p.ts_ns) as ts_ns,
    r.client_id,
    r.client_ip,
    r.group_id,
    r.node_id,
    coalesce(r.replica_id, -1) >= 0 as by_replica, -- whether a broker copies the partition
    p.api_key,
    r.api_name,
    p.topic,
    p.partition,
    max(p.partition_offset) filter (p.direction = 'request') as request_offset, -- asked for, or committed
    max(p.partition_offset) filter (p.direction = 'response') as response_offset, -- given by the broker
    max(p.high_watermark) as high_watermark,
    max(p.last_stable_offset) as last_stable_offset,
    max(p.log_start_offset) as log_start_offset,
    max(p.error_code) filter (p.direction = 'response') as error_code,
    max(p.error_name) filter (p.direction = 'response') as error_name,
    sum(p.n_batches) as n_batches, -- of Produce in the request, of Fetch in the response
    sum(p.n_records) as n_records,
    sum(p.record_bytes) as record_bytes,
    r.latency_us,
    r.queued_us,
    r.broker_us,
    r.status
from partitions p left join requests r using (request_id)
group by all
