-- One row per topic that was produced to or fetched from: what clients wrote and read, and what the replicas copied.
select
    topic,
    cluster,
    count(distinct partition) as n_partitions, -- that the capture shows in use
    count(distinct request_id) filter (api_key = 0) as n_produce,
    count(distinct request_id) filter (api_key in (1, 78) and not by_replica) as n_fetch,
    coalesce(sum(n_records) filter (api_key = 0), 0) as records_written,
    coalesce(sum(record_bytes) filter (api_key = 0), 0) as bytes_written,
    coalesce(sum(n_records) filter (api_key in (1, 78) and not by_replica), 0) as records_read,
    coalesce(sum(record_bytes) filter (api_key in (1, 78) and not by_replica), 0) as bytes_read,
    coalesce(sum(record_bytes) filter (api_key = 1 and by_replica), 0) as bytes_replicated,
    count(*) filter (error_code <> 0) as n_errors,
    count(distinct client_id) filter (api_key = 0) as n_writers,
    count(distinct client_id) filter (api_key in (1, 78) and not by_replica) as n_readers
from partition_requests
where api_key in (0, 1, 78) and topic is not null
group by topic, cluster
