-- Error codes in the brokers' responses by client, API and error, the most frequent first.
select client_id, client_ip, api_name, error_name, count(*) as n, min(ts) as first, max(ts) as last
from errors
group by client_id, client_ip, api_name, error_name
order by n desc, first, client_id, api_name
