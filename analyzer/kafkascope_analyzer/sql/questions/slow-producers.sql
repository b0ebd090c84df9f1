-- How long brokers took for Produce by client, the slowest first.
select
    client_id,
    client_ip,
    count(*) as n_requests,
    quantile_disc(broker_us, 0.5) as p50_us,
    quantile_disc(broker_us, 0.99) as p99_us,
    max(broker_us) as max_us,
    quantile_disc(queued_us, 0.99) as queued_p99_us,
    count(*) filter (status = 'unanswered') as n_unanswered,
    count(*) filter (n_errors > 0) as n_with_errors,
    max(throttle_ms) as longest_throttle_ms,
    max(in_flight) as most_in_flight
from requests
where api_name = 'Produce'
group by client_id, client_ip
order by p99_us desc nulls last, client_id, client_ip
