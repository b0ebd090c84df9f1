-- what_if_linger(linger_ms, batch_size := 16384): per producer, its requests as they were and with another linger.ms.
with recursive batches as (
    select p.cluster, r.client_id, r.client_ip, p.conn_id, p.topic, p.partition, p.request_id, p.n_records, p.record_bytes,
        p.first_timestamp_ms, greatest(p.max_timestamp_ms - p.first_timestamp_ms, 0) as gathered_ms
    from partitions p join requests r using (request_id)
    where p.api_key = 0 and p.direction = 'request' and p.n_records between 1 and 100000 and p.first_timestamp_ms is not null
),
arrivals as ( -- records lie evenly between the first and the last of their batch
    select b.* exclude (first_timestamp_ms, gathered_ms), k,
        first_timestamp_ms + gathered_ms * k / greatest(n_records - 1, 1) as at_ms, record_bytes / n_records as bytes
    from batches b, unnest(range(n_records)) as t(k)
),
ends as ( -- of each arrival: the first that a request which it begins would not carry any more
    select conn_id, at_ms,
        min(at_ms) over (partition by conn_id order by at_ms range between greatest(linger_ms, 0.001) following and unbounded following) as next_ms
    from (select distinct conn_id, at_ms from arrivals)
),
starts(conn_id, at_ms, next_ms) as (
    select conn_id, min(at_ms), arg_min(next_ms, at_ms) from ends group by conn_id
    union all
    select e.conn_id, e.at_ms, e.next_ms from starts s join ends e on e.conn_id = s.conn_id and e.at_ms = s.next_ms
),
placed as (
    select a.*, s.at_ms as start_ms from arrivals a asof join starts s on a.conn_id = s.conn_id and a.at_ms >= s.at_ms
),
filled as ( -- a batch that is full does not wait
    select cluster, client_id, client_ip, conn_id, start_ms, topic, partition, count(*) as n_records, sum(bytes) as bytes,
        ceil(sum(bytes) / batch_size) as n_batches, sum(start_ms + linger_ms - at_ms) as waited_ms
    from placed group by cluster, client_id, client_ip, conn_id, start_ms, topic, partition
),
requests_then as (
    select cluster, client_id, client_ip, conn_id, start_ms, max(n_batches) as n_requests, sum(n_batches) as n_batches,
        sum(n_records) as n_records, sum(bytes) as bytes, sum(waited_ms) as waited_ms
    from filled group by all
),
then_ as (
    select cluster, client_id, client_ip, sum(n_requests)::bigint as n_requests, sum(n_records)::bigint as n_records,
        sum(bytes) / sum(n_batches) as batch_bytes, sum(waited_ms) / sum(n_records) as waited_ms
    from requests_then group by all
),
now_ as (
    select cluster, client_id, client_ip, count(distinct request_id) as n_requests, sum(record_bytes) / count(*) as batch_bytes
    from batches group by all
)
select n.client_id, n.client_ip, t.n_records, n.n_requests, t.n_requests as n_requests_then,
    round(t.n_records / n.n_requests, 2) as records_a_request, round(t.n_records / t.n_requests, 2) as records_a_request_then,
    round(n.batch_bytes) as batch_bytes, round(t.batch_bytes) as batch_bytes_then, round(t.waited_ms, 1) as mean_wait_then_ms, n.cluster
from now_ n join then_ t
    on t.cluster = n.cluster and t.client_id is not distinct from n.client_id and t.client_ip = n.client_ip
