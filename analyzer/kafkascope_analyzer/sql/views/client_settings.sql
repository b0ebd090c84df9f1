-- One row per client and setting that the wire shows: its value, how that is known, its peers and the default.
with sent as (
    select r.*, c.software_name as software, c.client_instance_id
    from requests r join connection_clients c using (conn_id)
    where c.kind is distinct from 'broker'
),
batches as ( -- of Produce requests: how long records lay in the client's batches, and how large these became
    select request_id, max(max_timestamp_ms - first_timestamp_ms) as gathered_ms, max(record_bytes) as bytes,
        max(codec) as codec, max(producer_id) as producer_id
    from partitions where api_key = 0 and direction = 'request' group by request_id
),
shown(request_id, what, setting, setting_value, shown_by) as (
    select request_id, 'acks', 'acks', case acks when -1 then 'all' else acks::varchar end, 'acks of Produce'
    from sent where api_key = 0 and acks is not null
    union all
    select request_id, 'compression', 'compression.type', codec, 'codec of its batches' from batches where codec is not null
    union all
    select request_id, 'idempotence', 'enable.idempotence', (producer_id >= 0)::varchar, 'producer id of its batches'
    from batches where producer_id is not null
    union all
    select request_id, 'produce_timeout', 'request.timeout.ms', timeout_ms::varchar, 'timeout_ms of Produce'
    from messages.Produce_request
    union all
    select request_id, 'fetch_wait', 'fetch.max.wait.ms', max_wait_ms::varchar, 'max_wait_ms of Fetch' from sent where api_key = 1
    union all
    select request_id, 'fetch_min', 'fetch.min.bytes', min_bytes::varchar, 'min_bytes of Fetch' from sent where api_key = 1
    union all
    select request_id, 'fetch_max', 'fetch.max.bytes', max_bytes::varchar, 'max_bytes of Fetch'
    from messages.Fetch_request where max_bytes between 0 and 2147483646
    union all
    select request_id, 'partition_fetch_max', 'max.partition.fetch.bytes', topics[1].partitions[1].partition_max_bytes::varchar,
        'partition_max_bytes of Fetch'
    from messages.Fetch_request where len(topics) > 0 and len(topics[1].partitions) > 0
    union all
    select request_id, 'isolation', 'isolation.level', case isolation_level when 1 then 'read_committed' else 'read_uncommitted' end,
        'isolation_level of Fetch'
    from sent where api_key = 1 and isolation_level is not null
    union all
    select request_id, 'rack', 'client.rack', rack_id, 'rack_id of Fetch' from messages.Fetch_request where rack_id <> ''
    union all
    select request_id, 'session_timeout', 'session.timeout.ms', session_timeout_ms::varchar, 'session_timeout_ms of JoinGroup'
    from messages.JoinGroup_request
    union all
    select request_id, 'poll_interval', 'max.poll.interval.ms', rebalance_timeout_ms::varchar, 'rebalance_timeout_ms of JoinGroup'
    from messages.JoinGroup_request where rebalance_timeout_ms > 0
    union all
    select request_id, 'poll_interval', 'max.poll.interval.ms', rebalance_timeout_ms::varchar,
        'rebalance_timeout_ms of ConsumerGroupHeartbeat'
    from messages.ConsumerGroupHeartbeat_request where rebalance_timeout_ms > 0
    union all
    select request_id, 'assignors', 'partition.assignment.strategy', array_to_string(list_transform(protocols, lambda p: p."name"), ', '),
        'protocols of JoinGroup'
    from messages.JoinGroup_request where len(protocols) > 0
    union all
    select request_id, 'group_protocol', 'group.protocol', case api_name when 'JoinGroup' then 'classic' else 'consumer' end,
        'its API: ' || api_name
    from sent where api_name in ('JoinGroup', 'ConsumerGroupHeartbeat')
    union all
    select request_id, 'group', 'group.id', group_id, 'group of its requests' from sent
    where group_id is not null and api_name in ('JoinGroup', 'ConsumerGroupHeartbeat', 'ShareGroupHeartbeat', 'OffsetCommit')
    union all
    select request_id, 'instance_id', 'group.instance.id', group_instance_id, 'group_instance_id of its requests'
    from sent where group_instance_id is not null
    union all
    select request_id, 'transactional_id', 'transactional.id', transactional_id, 'transactional_id of its requests'
    from sent where transactional_id is not null
    union all
    select request_id, 'transaction_timeout', 'transaction.timeout.ms', transaction_timeout_ms::varchar,
        'transaction_timeout_ms of InitProducerId'
    from messages.InitProducerId_request where transactional_id is not null
    union all
    select request_id, 'mechanism', 'sasl.mechanism', sasl_mechanism, 'SaslHandshake' from sent where sasl_mechanism is not null
),
counted as (
    select s.cluster, s.client_id, s.client_ip, s.software, n.what, n.setting, n.setting_value, n.shown_by, count(*) as n,
        arg_min(request_id, s.ts_ns) as request_id
    from shown n join sent s using (request_id)
    where n.setting_value is not null
    group by all
),
inferred as (
    select s.cluster, s.client_id, s.client_ip, any_value(s.software) as software, 'in_flight' as what,
        'max.in.flight.requests.per.connection' as setting, 'at least ' || max(s.in_flight) as setting_value,
        'inferred: most Produce requests that waited at one time' as shown_by, count(*) as n, arg_max(request_id, s.in_flight) as request_id
    from sent s where s.api_key = 0 and s.in_flight is not null group by all
    union all
    select s.cluster, s.client_id, s.client_ip, any_value(s.software), 'linger', 'linger.ms',
        'about ' || quantile_disc(b.gathered_ms, 0.9), 'inferred: first to last record of its batches, of nine in ten', count(*),
        arg_max(request_id, b.gathered_ms)
    from sent s join batches b using (request_id) where s.api_key = 0 and b.gathered_ms between 0 and 600000 group by all
    union all
    select s.cluster, s.client_id, s.client_ip, any_value(s.software), 'batch_size', 'batch.size', 'at least ' || max(b.bytes),
        'inferred: its largest batch', count(*), arg_max(request_id, b.bytes)
    from sent s join batches b using (request_id) where s.api_key = 0 and b.bytes is not null group by all
),
loops(cadence, api_name, what, setting, shown_by) as (
    values
        ('heartbeat', 'Heartbeat', 'heartbeat_interval', 'heartbeat.interval.ms', 'inferred: median time between two heartbeats'),
        ('commit', 'OffsetCommit', 'commit_interval', 'auto.commit.interval.ms', 'inferred: median time between two commits, which are regular'),
        ('metadata_refresh', 'Metadata', 'metadata_age', 'metadata.max.age.ms', 'inferred: longest time between two Metadata requests')
),
periodic as (
    select s.cluster, s.client_id, s.client_ip, any_value(s.software) as software, l.what, l.setting,
        case l.what when 'metadata_age' then 'at least ' || max(c.max_ms)
            else 'about ' || arg_max(round(c.p50_ms, case when c.p50_ms >= 1000 then -2 else -1 end), c.n)::bigint end as setting_value,
        l.shown_by, count(distinct s.request_id) as n, arg_min(s.request_id, s.ts_ns) as request_id
    from cadences c
    join loops l on l.cadence = c.cadence
    join sent s on s.client_instance_id = c.client_instance_id and s.conn_id = coalesce(c.conn_id, s.conn_id) and s.api_name = l.api_name
    where c.p50_ms > 0 and (c.cadence <> 'commit' or (c.n >= 3 and c.p99_ms <= 2 * c.p50_ms))
    group by s.cluster, s.client_id, s.client_ip, l.what, l.setting, l.shown_by
),
everything as (from counted union all from inferred union all from periodic),
peers as (
    select e.cluster, e.client_id, e.client_ip, e.what, mode(p.setting_value) as setting_value
    from everything e join everything p on p.software = e.software and p.what = e.what
        and (p.client_id, p.client_ip) is distinct from (e.client_id, e.client_ip)
    group by all
)
select
    e.cluster,
    e.client_id,
    e.client_ip,
    e.software as software_name,
    e.what, -- what the setting does
    coalesce(regexp_replace(l.setting, '( =|=|\().*', ''), e.setting) as setting, -- as the client's library calls it, else as the Java client does
    e.setting_value,
    e.n as n_requests, -- that show it
    e.shown_by,
    p.setting_value as peers_value, -- the commonest of other clients of the same library
    l.default_value, -- of the library
    e.request_id -- the first that shows it
from everything e
left join peers p on p.cluster = e.cluster and p.client_id is not distinct from e.client_id and p.client_ip = e.client_ip and p.what = e.what
left join library_settings l on starts_with(e.software, l.software_name) and l.what = e.what
