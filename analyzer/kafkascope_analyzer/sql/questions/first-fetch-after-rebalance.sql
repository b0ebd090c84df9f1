-- After each rebalance, the first response to a Fetch of each member that brought records, and how long that took.
with member as (
    select b.cluster, b.rebalance_id, b.group_id, b.generation, b.start_ns, b.end_ns, unnest(b.members) as m
    from rebalances b where b.end_ns is not null
),
fetched as (
    select c.client_instance_id, r.response_ns, r.request_id, r.node_id, r.n_records, r.response_packet_no
    from requests r join (select client_instance_id, unnest(conn_ids) as conn_id from clients) c using (conn_id)
    where r.api_key = 1 and r.n_records > 0
)
select b.group_id, b.generation, b.m.client_id as client_id, make_timestamp(b.end_ns // 1000)::timestamptz as rebalance_ended,
    make_timestamp(min(f.response_ns) // 1000)::timestamptz as first_records, round((min(f.response_ns) - b.end_ns) / 1e6, 1) as after_ms,
    arg_min(f.node_id, f.response_ns) as node_id, arg_min(f.n_records, f.response_ns) as n_records,
    arg_min(f.response_packet_no, f.response_ns) as response_packet_no, arg_min(f.request_id, f.response_ns) as request_id, b.rebalance_id
from member b left join fetched f on f.client_instance_id = b.m.client_instance_id and f.response_ns > b.end_ns
group by b.group_id, b.generation, b.m.client_id, b.m.member_id, b.end_ns, b.rebalance_id
order by b.end_ns, b.group_id, client_id, b.m.member_id
