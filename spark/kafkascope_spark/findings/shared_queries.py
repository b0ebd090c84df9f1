"""Queries that several detectors select from, by name: connections with their clients, servers, outages; and messages.

Each is Spark SQL over the dataset's tables and over other queries of this module. A query that qualifies the columns of
a shared query gives that an alias.
"""

from kafkascope_analyzer.dataset.stories import RECOVERIES
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.findings.read import Events, Messages, Read
from kafkascope_spark.findings.sql import MOST_EVIDENCE, sorted_set
from kafkascope_spark.findings.thresholds import ANSWERS_MEANWHILE_NS, AT_ONCE_NS, LEFT_NS, SILENT_CLIENTS

CLIENT = "client_instance_id, client_id, client_ip, kind, principal, software_name, software_version"
"""The columns that connection_clients has of a client."""
BEHIND = "more than one broker is behind"
"""What connections.node_id_why says of an address of several brokers."""
NO_BROKER = "coalesce(kind, '') != 'broker'"
"""Rows whose client is not one of the brokers."""
WHOSE = "conn_id string, request_id string, ts_ns bigint, group_id string"
MESSAGES = {
    "metadata_responses": Messages(
        "Metadata/response",
        "request_id string, conn_id string, ts_ns bigint, brokers array<struct<host: string, port: int>>",
    ),
    "join_group_requests": Messages(
        "JoinGroup/request", f"{WHOSE}, session_timeout_ms bigint, rebalance_timeout_ms bigint"
    ),
    "leave_group_requests": Messages("LeaveGroup/request", f"{WHOSE}, members array<struct<reason: string>>"),
    "consumer_heartbeat_requests": Messages(
        "ConsumerGroupHeartbeat/request", f"{WHOSE}, member_epoch bigint, rebalance_timeout_ms bigint"
    ),
    "list_offsets_requests": Messages(
        "ListOffsets/request",
        "request_id string, "
        "topics array<struct<name: string, partitions: array<struct<partition_index: bigint, timestamp: bigint>>>>",
    ),
}

USAGE = Events("usage")
EVENTS_BY_NAME = {USAGE.kind: USAGE}
"""Events that queries select from, by their kind."""

UNANSWERED_OR_RESET = Read(
    RECOVERIES,
    "resource_kind = 'connection' and first_error_name in ('REQUEST_UNANSWERED', 'CONNECTION_RESET')",
)
"""Episodes that begin with a request without a response, or with a reset."""
SHARED_READS = {"unanswered_or_reset": UNANSWERED_OR_RESET}
ANSWERING_SERVERS = Read(CONNECTIONS, "client_bytes > 0 and server_bytes > 0", per="server_ip, server_port")
"""Servers of which both directions were captured (n_up of servers): outages and isolated_failures are about these."""
IS_ANSWERING = "resource = concat(server_ip, ':', server_port)"
"""In a query of candidates: the episode of recovery is about such a server."""

_CONNECTION_CLIENTS = f"""
select explode(conn_ids) as conn_id, {CLIENT} from clients"""
"""One row per connection of a client."""

_OWNED_CONNECTIONS = """
select * from (
    select conn_id, concat(server_ip, ':', server_port) as server, server_ip, server_port, client_ip as from_ip,
        node_id, node_id_why, protocol, close_kind, first_ns, last_ns, close_ns, synack_ns, sasl_mechanism,
        session_lifetime_ms, roles, primary_role, n_requests, n_responses, client_bytes, server_bytes,
        client_segments, server_segments
    from connections
) left join connection_clients using (conn_id)"""
"""Connections with `server` (its address) and the client that each belongs to (CLIENT; null where there is none)."""

_SERVERS = """
select concat(server_ip, ':', server_port) as server,
    count_if(synack_ns is not null or client_bytes > 0 or server_bytes > 0) as n_there,
    count_if(client_bytes > 0 and server_bytes > 0) as n_up,
    count_if(protocol = 'kafka' and n_responses > 0) as n_kafka,
    count_if(protocol = 'tls' and client_bytes > 0 and server_bytes > 0) as n_tls,
    count_if(sasl_mechanism is not null) as n_sasl,
    count_if(size(array_except(roles, array('bootstrap', 'telemetry'))) > 0) as n_worked,
    collect_list(struct(conn_id, first_ns as opened_ns, coalesce(close_ns, last_ns) as ended_ns)) as all_connections
from connections group by server_ip, server_port"""
"""One row per server address. n_there: its connections on which the server answered or data went; n_up: those with data
both ways; n_kafka, n_tls, n_sasl, n_worked: those that answered Kafka requests, spoke TLS, used SASL, did more than ask
for the cluster; all_connections: each of them, with its time."""

_ADVERTISED_BROKERS = f"""
select {CLIENT}, host, port, min_by(server, first) as from_server, min(first).ts_ns as advertised_ns,
    min(first).request_id as advertised_by, sum(n) as n_advertised
from (
    select conn_id, broker.host, broker.port, min(struct(ts_ns, request_id)) as first, count(*) as n
    from metadata_responses lateral view explode(brokers) as broker
    group by conn_id, broker.host, broker.port
) join owned_connections using (conn_id)
where client_instance_id is not null and kind <> 'broker'
group by {CLIENT}, host, port"""
"""One row per client and broker address that Metadata responses gave it: host, port, from_server (who gave it first),
advertised_ns and advertised_by (when, and the request), n_advertised (how often)."""

_UNANSWERED = "first_error_name in ('REQUEST_UNANSWERED', 'RESPONSE_LATE')"
_AFFECTED_NS = (
    f"""if({_UNANSWERED} or first_error_name = 'CONNECTION_UNANSWERED', coalesce(failing_ns, start_ns), start_ns)"""
)


def _number_of(value: str) -> str:
    """An aggregate: how many different values there are. Spark plans several `count(distinct ...)` of one query as many
    copies of its rows."""
    return f"size(collect_set({value}))"


_CONNECTION_FAILURES = f"""
with failures as (
    select r.* except (client_id), {_AFFECTED_NS} as affected_ns, c.client_id, c.client_ip, kind, software_name
    from recoveries r join clients c on r.client_instance_id = c.client_instance_id
    where resource_kind = 'connection'
), by_cause as (
    select cause_id, min_by(resource, struct(start_ns, recovery_id)) as server, max(old_node_id) as node_id,
        {_number_of("if(kind <> 'broker', client_instance_id, null)")} as n_clients,
        {sorted_set("if(kind <> 'broker', coalesce(nullif(client_id, ''), client_ip), null)")} as names,
        {sorted_set("if(kind <> 'broker', software_name, null)")} as software_names,
        {_number_of("if(kind = 'broker', client_instance_id, null)")} as n_brokers,
        if(min(client_instance_id) = max(client_instance_id), min(client_instance_id), null) as client_instance_id,
        sum(n_errors) as n,
        count_if(outcome = 'still_open' and kind <> 'broker') as n_open,
        count_if(arrays_overlap(error_names, array('CONNECTION_REFUSED', 'CONNECTION_UNANSWERED')))
            as n_failed_attempts,
        {_number_of(f"if({_UNANSWERED}, client_instance_id, null)")} as n_silent,
        collect_set(if(first_error_name in ('CONNECTION_CLOSED', 'CONNECTION_RESET'),
            struct(start_ns, client_instance_id), null)) as closed,
        min_by(first_error_name, struct(affected_ns, recovery_id)) as first_error,
        min(affected_ns) as first_ns, max(start_ns) as last_start_ns,
        max(recovered_ns) as last_back_ns, min(recovered_ns) as first_back_ns,
        flatten(min_by(evidence, struct(start_ns, recovery_id), {MOST_EVIDENCE})) as evidence
    from failures group by cause_id
)
select by_cause.*, n_worked,
    size(array_distinct(filter(closed, each -> each.start_ns <= first_ns + {AT_ONCE_NS}).client_instance_id))
        as n_at_once,
    filter(all_connections, c -> c.opened_ns < first_ns and c.ended_ns > first_ns + {LEFT_NS}).conn_id as left_conn_ids
from by_cause join servers s on by_cause.server = s.server where n_up > 0"""
"""One row per cause of connection failures at one broker: whom it affected, when, how; left_conn_ids: connections from
before that went on."""

_OUTAGES = f"""
with causes as (
    select cause_id, min_by(resource, struct(start_ns, recovery_id)) as server, min({_AFFECTED_NS}) as lost_ns,
        min(recovered_ns) as back_ns
    from recoveries where resource_kind = 'connection' group by cause_id
), lasting as (
    select cause_id, lost_ns, back_ns, conn_id
    from causes join connections on server = concat(server_ip, ':', server_port)
    where first_ns < lost_ns and coalesce(close_ns, last_ns) > lost_ns + {LEFT_NS}
), meanwhile as (
    select /*+ broadcast(lasting) */ cause_id, count(*) as n_at_first,
        count_if(response_ns < least(back_ns, lost_ns + {LEFT_NS})) as n_meanwhile
    from requests join lasting using (conn_id)
    where response_ns between lost_ns + {ANSWERS_MEANWHILE_NS} and lost_ns + {LEFT_NS}
    group by cause_id
)
select /*+ broadcast(m) */ f.* except (closed, left_conn_ids), coalesce(n_meanwhile, 0) as n_meanwhile
from connection_failures f left join meanwhile m on f.cause_id = m.cause_id
where n_failed_attempts > 0 or (n_silent >= {SILENT_CLIENTS} and n_at_first is null)
    or (n_at_once >= {SILENT_CLIENTS} and size(left_conn_ids) = 0 and n_worked > 0)"""
"""One row per cause for which a lost broker is the reason: connection_failures with n_meanwhile (requests of others
that the broker answered all the same, until the first client was back: some clients notice a broker's return sooner
than others, RFC 6298); only of servers of which both directions were captured.

The reason is a lost broker where clients could not come back; or where several clients' requests to it were not
answered, and nobody else's were either; or where several clients lost it at once, and no connection went on."""

_ISOLATED_FAILURES = """
with episodes as (
    select r.*, resource as server, evidence[0] as failing_id, substring_index(evidence[0], '-', 1) as conn_id
    from unanswered_or_reset r left anti join outages o on r.cause_id = o.cause_id
), before as (
    select /*+ broadcast(episodes) */ recovery_id,
        (min(failing_ns) - max(if(response_last_ns < failing_ns, greatest(request_last_ns, response_last_ns), null)))
            div 1000000 as idle_ms,
        min(if(request_id = failing_id, api_name, null)) as api_name
    from episodes join requests on episodes.conn_id = requests.conn_id group by recovery_id
)
select e.* except (client_id), idle_ms, api_name, c.client_id, c.client_ip, c.kind
from episodes e join before on e.recovery_id = before.recovery_id
join clients c on e.client_instance_id = c.client_instance_id
left semi join (select server from servers where n_up > 0) up on e.server = up.server"""
"""One row per episode of a connection that left a request unanswered, or was reset, outside of outages: the columns of
recoveries, server, conn_id, idle_ms (silence on the connection before that request), api_name of the request."""

SHARED_QUERIES = {
    **{name: read.query(RECOVERIES.name) for name, read in SHARED_READS.items()},
    "connection_clients": _CONNECTION_CLIENTS,
    "owned_connections": _OWNED_CONNECTIONS,
    "servers": _SERVERS,
    "advertised_brokers": _ADVERTISED_BROKERS,
    "connection_failures": _CONNECTION_FAILURES,
    "outages": _OUTAGES,
    "isolated_failures": _ISOLATED_FAILURES,
}
