-- Connections of each client to each broker: how many, what for, how they ended.
select
    client_ids[1] as client_id,
    client_ip,
    node_id,
    server_ip || ':' || server_port as server,
    count(*) as n_connections,
    list_sort(list(distinct primary_role) filter (primary_role is not null)) as roles,
    list_sort(list(distinct close_kind)) as ended,
    sum(n_requests) as n_requests,
    sum(n_errors) as n_errors,
    cluster
from connections
group by all
order by n_connections desc, client_id, server, cluster
