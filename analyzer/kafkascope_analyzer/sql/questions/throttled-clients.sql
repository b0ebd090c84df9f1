-- Clients whom a quota slowed down: responses that throttled them, and for how long.
select client_id, client_ip, node_id, api_name, count(*) as n_throttled, sum(throttle_ms) as throttle_ms, max(throttle_ms) as longest_ms, cluster
from requests
where throttle_ms > 0
group by all
order by throttle_ms desc, client_id, api_name
