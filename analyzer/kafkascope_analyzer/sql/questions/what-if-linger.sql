-- What linger.ms=20 would make of each producer's requests: how many, how large; other values: from what_if_linger(50).
from what_if_linger(20)
order by n_requests - n_requests_then desc, client_id, client_ip, cluster
