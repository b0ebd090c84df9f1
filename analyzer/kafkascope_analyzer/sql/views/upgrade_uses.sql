-- One row per request that uses what a release of Kafka removes or deprecates, with the KIP.
select r.cluster, r.client_id, r.client_ip, r.conn_id, r.ts_ns, r.request_id, '4.0' as release, 'removed' as how, 'KIP-896' as kip,
    r.api_name || ' v' || r.api_version as uses
from requests r join api_versions v using (api_key, api_version)
where not v.in_4_0
union all
select r.cluster, r.client_id, r.client_ip, r.conn_id, r.ts_ns, r.request_id, '5.0', 'deprecated', 'KIP-1274',
    'the classic rebalance protocol in the Java consumer'
from requests r join connection_clients c using (conn_id)
where r.api_name = 'JoinGroup' and c.software_name like 'apache-kafka-java%'
    and r.request_id in (select request_id from messages.JoinGroup_request where protocol_type = 'consumer')
