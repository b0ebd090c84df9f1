-- Restarts of brokers: when, from which release to which, and how many clients waited because of it.
select subject, down_ts as since, back_ts as until, release_before, release_after, len(clients) as n_clients, longest_ms, incident_id
from broker_restarts
order by down_ts, subject
