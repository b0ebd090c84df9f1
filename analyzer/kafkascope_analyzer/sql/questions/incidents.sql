-- What failed in the capture: when, where, how many clients waited because of it.
select severity, kind, subject, start_ts as since, end_ts as until, len(clients) as n_clients, n_stalls, longest_ms, incident_id
from incidents
order by start_ts, incident_id
