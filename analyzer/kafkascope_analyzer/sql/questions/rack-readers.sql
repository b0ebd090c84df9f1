-- Consumers that say their rack: what they read inside it and outside, and why not all of it inside.
with readers as (
    select distinct cluster, client_id, client_ip, rack, request_id from client_racks
),
read as (
    select r.cluster, r.client_id, r.client_ip, b.rack as broker_rack, sum(r.record_bytes) as bytes
    from requests r left join broker_racks b using (cluster, node_id)
    where r.api_key = 1 and coalesce(r.replica_id, -1) < 0
    group by all
),
sent as (
    select r.cluster, r.client_id, r.client_ip, count(*) as n_sent_to_replica
    from partitions p join requests r using (request_id)
    where p.direction = 'response' and p.preferred_read_replica >= 0
    group by all
),
summed as (
    select c.*,
        coalesce(sum(r.bytes) filter (r.broker_rack = c.rack), 0) as bytes_inside,
        coalesce(sum(r.bytes) filter (r.broker_rack <> c.rack), 0) as bytes_outside,
        coalesce(max(s.n_sent_to_replica), 0) as n_sent_to_replica
    from readers c
    left join read r using (cluster, client_id, client_ip)
    left join sent s using (cluster, client_id, client_ip)
    group by all
)
select client_id, client_ip, rack, bytes_inside, bytes_outside, n_sent_to_replica,
    case
        when not exists (from broker_racks b where b.cluster = summed.cluster and b.rack = summed.rack) then 'no broker is in that rack'
        when bytes_outside = 0 then 'reads inside its rack'
        when n_sent_to_replica > 0 then 'leaders send it to replicas in its rack'
        else 'no leader sends it to a replica: replica.selector.class is not set, or no replica is in its rack'
    end as what,
    request_id, cluster
from summed
order by bytes_outside desc, client_id, client_ip, rack, cluster
