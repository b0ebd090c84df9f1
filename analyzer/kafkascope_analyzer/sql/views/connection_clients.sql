-- One row per connection, with the client that it belongs to, and the software as the connection or behaviour shows it.
select
    c.cluster,
    c.conn_id,
    k.client_instance_id,
    k.kind,
    coalesce(k.software_name, c.software_name) as software_name,
    coalesce(k.software_version, c.software_version) as software_version,
    c.principal
from connections c
left join (
    select unnest(conn_ids) as conn_id, client_instance_id, kind, software_name, software_version from clients
) k on k.conn_id = c.conn_id
