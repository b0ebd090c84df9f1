-- Client software and its version by client, with the versions of each API that it used.
select
    client_id,
    client_ip,
    max(software_name) as software,
    max(software_version) as version,
    list_sort(list(distinct api_name || ':' || api_version)) as api_versions
from (
    select r.client_id, r.client_ip, r.api_name, r.api_version, c.software_name, c.software_version
    from requests r join connections c using (conn_id)
)
where api_name is not null
group by client_id, client_ip
order by software, version, client_id, client_ip
