"""What `events` has to hold, asked of the finished tables by DuckDB: an oracle that shares no code with ingest."""

from pathlib import Path

import duckdb

from kafkascope_analyzer.dataset.dataset import Dataset

HOT = "0, 1, 2, 8, 12, 23, 24, 25, 26, 27, 28, 52, 53, 56, 63, 68, 72, 76, 78, 79, 83, 84, 85, 88"
_KNOWN = """
with known as (
    select *, cast(regexp_extract(request_id, '-(\\d+)$', 1) as bigint) as number,
        coalesce(error_code, 0) <> 0 or coalesce(n_errors, 0) <> 0 or status in ('unanswered', 'undecoded') as failed
    from requests where status <> 'orphan_response'
)
"""
USAGE = (
    _KNOWN
    + """
select conn_id, client_id, api_key, api_version, group_id, member_id, group_instance_id, transactional_id,
    coordinator_type, coordinator_key, software_name, software_version, status, coalesce(replica_id, -1) >= 0, failed,
    coalesce(n_records, 0) > 0 and not failed, coalesce(n_records, 0) + coalesce(record_bytes, 0) > 0,
    coalesce(acks = 0, false), coalesce(sum(n_records), 0), coalesce(sum(record_bytes), 0),
    coalesce(sum(n_partitions), 0), count(*) filter (fetch_session_epoch = 0),
    count(*) filter (api_key = 13 or (api_key in (68, 76, 88) and generation_or_epoch < 0)),
    min(max_wait_ms), min(min_bytes),
    min(generation_or_epoch) filter (generation_or_epoch > 0),
    max(generation_or_epoch) filter (generation_or_epoch > 0),
    count(*), min(number), max(ts_ns), max(max_wait_ms), max(correlation_id) filter (correlation_id < 2147483640),
    max(producer_id), arg_min(latency_us, number), min(ts_ns), max(response_last_ns)
from known group by all
"""
)
USAGE_EVENTS = """
select conn_id, u.client_id, u.api_key, u.api_version, u.group_id, u.member_id, u.group_instance_id, u.transactional_id,
    u.coordinator_type, u.coordinator_key, u.software_name, u.software_version, u.status, u.is_replica, u.failed,
    u.returned_records, u.has_records, u.is_unacknowledged, u.total_records, u.total_record_bytes, u.total_partitions,
    u.n_new_fetch_sessions, u.n_leaves, u.least_wait_ms, u.least_min_bytes, u.lowest_generation, u.highest_generation,
    u.n, u.first_number, u.last_ns, u.max_wait_ms, u.last_correlation_id, u.producer_id, u.latency_us, u.ts_ns,
    u.last_answered_ns
from (select conn_id, usage as u from events where kind = 'usage')
"""
LOOP = (
    _KNOWN
    + """,
looped as (
    select *, case when api_key in (12, 68, 76, 88) then 'heartbeat' when api_key in (1, 78) then 'fetch'
        when api_key in (8, 28) then 'commit' end as loop
    from known
),
gaps as (
    select conn_id, loop, ts_ns, lag(ts_ns) over w as before_ns,
        lag(coalesce(response_last_ns, response_ns)) over w as answered_ns
    from looped where loop is not null window w as (partition by conn_id, loop order by number)
),
measured as (
    select conn_id, loop as cadence, (ts_ns - before_ns) // 1000000 as ms from gaps where before_ns is not null
    union all
    select conn_id, 'poll_gap', greatest(floor((ts_ns - answered_ns) / 1000000.0), 0)
    from gaps where loop = 'fetch' and answered_ns is not null
    union all
    select conn_id, 'in_flight', in_flight from known where api_key = 0 and in_flight is not null
)
select conn_id, cadence, count(*), floor(quantile_cont(ms::bigint, 0.5)), floor(quantile_cont(ms::bigint, 0.99)),
    max(ms)
from measured group by all
"""
)
LOOP_EVENTS = """
select conn_id, l.cadence, l.n, l.p50, l.p99, l.max
from (select conn_id, loop as l from events where kind = 'loop')
"""
CLOSE = """
select c.conn_id,
    (select min(o.idle_before_close_ms) from connections o where o.server_ip = c.server_ip
        and o.server_port = c.server_port and o.close_kind in ('fin_server', 'rst_server')
        and o.close_ns // 250000000 between c.close_ns // 250000000 - 2 and c.close_ns // 250000000 + 2),
    case when c.close_ns is not null then (select count(*) from connections o where o.server_ip = c.server_ip
        and o.server_port = c.server_port and o.close_kind = 'refused'
        and o.close_ns // 250000000 between c.close_ns // 250000000 and c.close_ns // 250000000 + 20) end
from connections c
"""
CLOSE_EVENTS = """
select conn_id, connection.near_idle_ms, connection.refused_after from events where kind = 'connection'
"""
DECIDING = (
    _KNOWN
    + f""",
troubled as (select *, failed or coalesce(throttle_ms, 0) >= 1000 as trouble from known),
follows as (
    select *, lag(trouble) over (
        partition by client_ip, client_id, api_key, group_id, transactional_id
        order by ts_ns, request_packet_no, request_id
    ) as after_trouble
    from troubled where api_key in ({HOT})
)
select request_id from troubled where api_key not in ({HOT}) or trouble
    or (api_key in (2, 23, 24, 68, 76, 88) and number < 32)
    or (api_key in (1, 2, 3, 9, 10, 12, 23) and in_flight = 1
        and latency_us > coalesce(max_wait_ms, 0) * 1000 + 5000000)
    or (api_key in (8, 12, 24, 25, 26, 28, 68, 76, 88) and latency_us >= 500000)
union select request_id from follows where after_trouble and not trouble
"""
)
ERROR = """
select e.conn_id, e.request_id, e.error_name, e.topic, e.partition, e.group_id, e.transactional_id, e.resource,
    1::bigint, e.ts_ns, e.ts_ns, r.ts_ns, (e.ts_ns - r.ts_ns) // 1000
from errors e join requests r using (request_id)
"""
ERROR_EVENTS = """
select conn_id, e.request_id, e.error_name, e.topic, e.partition, e.group_id, e.transactional_id, e.resource, e.n,
    ts_ns, e.last_ns, e.last_sent_ns, e.waited_us
from (select conn_id, ts_ns, error_run as e from events where kind = 'error_run')
"""


def differences(dataset: Path, expected: str, events: str, *, more_allowed: bool = False) -> list[object]:
    """Rows that events lack, and those that they have beyond what is expected."""
    tables = connected(dataset)
    lacking = tables.sql(f"({expected}) except all ({events})").fetchall()
    return lacking if more_allowed else lacking + tables.sql(f"({events}) except all ({expected})").fetchall()


def connected(dataset: Path) -> duckdb.DuckDBPyConnection:
    """A database whose views are the dataset's tables."""
    database = duckdb.connect()
    opened = Dataset.open(dataset)
    for table in ("requests", "connections", "errors", "partitions", "dns", "events"):
        database.register(table, opened.arrow(table))
    return database


_MENTIONS = """
with clients as (select conn_id, client_ip, client_ids[1] as client_id, close_kind, close_ns from connections),
mentions as (
    select p.request_id, p.conn_id, c.client_ip, c.client_id, p.ts_ns, p.api_key, p.direction, p.topic, p.partition,
        coalesce(p.error_code, 0) <> 0 as failed, coalesce(p.leader_id, p.current_leader_id) as leader_id,
        false as unanswered
    from partitions p join clients c using (conn_id)
    where p.api_key in (0, 1, 2, 3, 23, 78, 79) and p.topic is not null
),
given_up as (
    select r.request_id from requests r join clients c using (conn_id)
    where r.status = 'unanswered' and r.api_key in (0, 1, 78, 79) and c.close_ns is not null
        and (c.close_kind in ('fin_server', 'rst_server') or c.close_ns - r.request_last_ns > 5000000000
            or r.api_key = 0)
),
unanswered as (
    select * replace ('response' as direction, true as failed, true as unanswered)
    from mentions where direction = 'request' and request_id in (from given_up)
),
topic_errors as (
    select e.request_id, e.conn_id, c.client_ip, c.client_id, e.ts_ns, e.api_key, 'response' as direction, e.topic,
        e.partition, true as failed, null::integer as leader_id, false as unanswered
    from errors e join clients c using (conn_id) where e.topic is not null and e.partition is null
),
"""
_FOLLOWING = """
{name}_counted as (
    select *, count(*) filter (kind = 0) over so_far as n0, count(*) filter (kind = 1) over so_far as n1,
        count(*) filter (kind = 2) over so_far as n2, count(*) filter (kind = 3) over so_far as n3,
        coalesce(lead(request_id) over in_order = request_id and lead(failed) over in_order, false) as fails_next
    from (
        select *, case when api_key in (0, 1, 78, 79) then case when direction = 'request' then 0 else 1 end
            when api_key = 3 then 2 else 3 end as kind
        from {rows}
    )
    window so_far as (partition by client_ip, client_id, topic {by} order by ts_ns, direction, request_id
            rows between unbounded preceding and current row),
        in_order as (partition by client_ip, client_id, topic {by} order by ts_ns, direction, request_id)
),
{name} as (
    select *, case kind
        when 0 then n0 - max(n0) filter (failed) over before when 1 then n1 - max(n1) filter (failed) over before
        when 2 then n2 - max(n2) filter (failed) over before else n3 - max(n3) filter (failed) over before end as since
    from {name}_counted
    window before as (partition by client_ip, client_id, topic {by} order by ts_ns, direction, request_id
        rows between unbounded preceding and 1 preceding)
),
"""
PARTITION = (
    _MENTIONS
    + "every as (from mentions union all from unanswered),\n"
    + _FOLLOWING.format(name="of_partition", rows="every", by=", partition")
    + "denied as (from topic_errors union all from mentions where topic in (select topic from topic_errors)),\n"
    + _FOLLOWING.format(name="of_topic", rows="denied", by="")
    + """
found as (from of_partition union all from of_topic)
select distinct client_ip, conn_id, request_id, ts_ns, api_key, direction = 'response' and not unanswered, topic,
    partition, leader_id, failed and direction = 'response' and not unanswered and coalesce(leader_id, -1) >= 0,
    unanswered
from found
where (since <= 16 and not failed and not fails_next) or unanswered
    or (failed and direction = 'response' and coalesce(leader_id, -1) >= 0)
"""
)
PARTITION_EVENTS = """
select client_ip, conn_id, p.request_id, ts_ns, p.api_key, p.answered, p.topic, p.partition, p.leader_id, p.hints,
    p.unanswered
from (select client_ip, conn_id, ts_ns, partition as p from events where kind = 'partition')
"""
