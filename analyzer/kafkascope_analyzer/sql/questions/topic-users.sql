-- Who uses each topic: clients with principal, library, groups and owners (--owners), how much they wrote and read.
select topic, client_id, client_ip, principal, software_name as software, software_version as version, group_ids as groups, owners,
    records_written, bytes_written, records_read, bytes_read,
    round((records_written + records_read) / greatest(date_diff('second', first_ts, last_ts), 1), 1) as records_a_second,
    n_errors, first_ts as first, last_ts as last, request_id, cluster
from topic_clients
where not by_replica
order by topic, bytes_written + bytes_read desc, client_id, client_ip, cluster
