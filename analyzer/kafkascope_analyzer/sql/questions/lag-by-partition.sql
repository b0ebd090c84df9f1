-- Lag of each group by topic-partition when the capture ended: high watermark minus committed offset, the last of each.
with committed as (
    select cluster, group_id, topic, partition, arg_max(request_offset, ts_ns) as committed_offset, max(ts) as committed_at
    from partition_requests
    where api_name = 'OffsetCommit' and error_code = 0 and request_offset >= 0
    group by all
),
written as (
    select cluster, topic, partition, arg_max(high_watermark, ts_ns) as high_watermark, max(ts) as seen_at
    from partition_requests
    where api_name in ('Fetch', 'ShareFetch') and high_watermark >= 0
    group by all
)
select c.group_id, c.topic, c.partition, committed_offset, high_watermark,
    high_watermark - committed_offset as lag, committed_at, seen_at, c.cluster
from committed c
left join written w
    on w.topic = c.topic and w.partition = c.partition and w.cluster is not distinct from c.cluster
order by lag desc nulls last, c.group_id, c.topic, c.partition, c.cluster
