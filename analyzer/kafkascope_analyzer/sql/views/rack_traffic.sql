-- One row per client and broker: the bytes of their connections, and whether these go from one rack to another.
with servers as (
    select c.cluster, c.server_ip, min(b.rack) as rack -- of hosts whose brokers are in one rack
    from connections c join broker_racks b using (cluster, node_id)
    group by all having count(distinct b.rack) = 1
),
clients_racks as (
    select cluster, client_id, client_ip, min(rack) as rack from client_racks group by all having count(*) = 1
)
select
    c.cluster,
    c.client_ids[1] as client_id,
    c.client_ip,
    any_value(coalesce(r.rack, h.rack)) as client_rack, -- client.rack, else that of a broker on the same host; null: not known
    c.node_id,
    any_value(b.rack) as broker_rack,
    any_value(coalesce(r.rack, h.rack) <> b.rack) as is_cross_rack, -- null where one of the racks is not known
    any_value(h.rack) is not null as by_broker, -- whether the client runs on the host of a broker, as replicas do
    count(*) as n_connections,
    sum(c.client_bytes) as bytes_sent,
    sum(c.server_bytes) as bytes_received
from connections c
left join broker_racks b on b.cluster = c.cluster and b.node_id = c.node_id
left join clients_racks r on r.cluster = c.cluster and r.client_ip = c.client_ip and r.client_id = c.client_ids[1]
left join servers h on h.cluster = c.cluster and h.server_ip = c.client_ip
where c.protocol = 'kafka'
group by c.cluster, c.client_ids[1], c.client_ip, c.node_id
