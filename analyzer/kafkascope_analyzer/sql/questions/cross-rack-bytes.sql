-- Bytes that went from one rack to another, by who sent them and where: what a cloud may charge for.
select client_rack, broker_rack, by_broker, client_id, client_ip, sum(bytes_sent) as bytes_sent, sum(bytes_received) as bytes_received,
    sum(bytes_sent + bytes_received) as bytes, cluster
from rack_traffic
where is_cross_rack
group by all
order by bytes desc, client_id, client_ip, broker_rack, cluster
