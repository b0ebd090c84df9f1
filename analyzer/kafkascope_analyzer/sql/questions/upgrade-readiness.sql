-- Who speaks what a release of Kafka removes or deprecates, by client and library, with the KIP and what to change.
select u.release, u.how, u.kip, u.client_id, u.client_ip, max(c.software_name) as software, max(c.software_version) as version,
    u.uses, count(*) as n_requests, make_timestamp(max(u.ts_ns) // 1000)::timestamptz as last,
    case when u.kip = 'KIP-1274' then 'group.protocol=consumer, which is the default from 5.0 on; 6.0 removes the classic one'
        else coalesce(max(l.title || ' ' || l.least_for_4_0 || ' or newer'), 'a newer release of the library') end as change_to,
    arg_min(u.request_id, u.ts_ns) as request_id, u.cluster
from upgrade_uses u join connection_clients c using (conn_id)
left join libraries l on starts_with(c.software_name, l.software_name)
group by u.release, u.how, u.kip, u.client_id, u.client_ip, u.uses, u.cluster
order by u.release, n_requests desc, u.client_id, u.client_ip, u.uses, u.cluster
