-- One row per request, as in requests, with the client that sent it: its client_instance_id, kind and software.
select
    r.* exclude (software_name, software_version),
    c.client_instance_id, -- null where the stories know no client of the connection
    c.kind as client_kind,
    coalesce(c.software_name, r.software_name) as software_name,
    coalesce(c.software_version, r.software_version) as software_version
from requests r
left join (
    select unnest(conn_ids) as conn_id, client_instance_id, kind, software_name, software_version from clients
) c on c.conn_id = r.conn_id
