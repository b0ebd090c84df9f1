-- One row per topic and client that wrote or read it: who it is, by what software, how much, and who owns it (--owners).
with used as (
    select
        p.cluster,
        p.topic,
        p.client_id,
        p.client_ip,
        max(w.principal) as principal,
        max(w.software_name) as software_name,
        max(w.software_version) as software_version,
        p.by_replica, -- whether a broker copies the topic
        coalesce(sum(p.n_records) filter (p.api_key = 0), 0) as records_written,
        coalesce(sum(p.record_bytes) filter (p.api_key = 0), 0) as bytes_written,
        coalesce(sum(p.n_records) filter (p.api_key in (1, 78)), 0) as records_read,
        coalesce(sum(p.record_bytes) filter (p.api_key in (1, 78)), 0) as bytes_read,
        count(distinct p.request_id) as n_requests,
        count(*) filter (p.error_code <> 0) as n_errors,
        min(p.ts) as first_ts,
        max(p.ts) as last_ts,
        arg_min(p.request_id, p.ts_ns) as request_id -- the first that names the topic
    from partition_requests p left join connection_clients w using (conn_id)
    where p.api_key in (0, 1, 78) and p.topic is not null
    group by p.cluster, p.topic, p.client_id, p.client_ip, p.by_replica
),
groups as (
    select cluster, client_id, client_ip, list_sort(list(distinct group_id)) as group_ids -- that the client is in
    from requests where group_id is not null and api_name not like 'Describe%' group by all
)
select
    u.*,
    case when u.records_read > 0 or u.records_written = 0 then g.group_ids end as group_ids,
    (
        select string_agg(distinct o.owner, ', ' order by o.owner) from owners o
        where u.client_id glob o.pattern or u.principal glob o.pattern or u.client_ip glob o.pattern
            or len(list_filter(g.group_ids, lambda x: x glob o.pattern)) > 0
    ) as owners -- null where no line of --owners fits
from used u
left join groups g on g.cluster = u.cluster and g.client_id is not distinct from u.client_id and g.client_ip = u.client_ip
