-- Every setting of each client that the wire shows, how that is known, what its peers and its library's default have.
select client_id, client_ip, software_name as software, setting, setting_value as "value", shown_by, peers_value as peers, default_value as "default",
    n_requests, request_id, cluster
from client_settings
order by client_id, client_ip, setting, n_requests desc, "value", cluster
