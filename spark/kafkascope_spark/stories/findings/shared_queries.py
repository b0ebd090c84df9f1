"""Queries that several detectors select from, by name: connections with their clients, servers, lost brokers, messages.

Each is Spark SQL over the dataset's tables and other queries of this module. A query that qualifies the columns of a
shared query must give it an alias.
"""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings.conditions import above, longer_than
from kafkascope_spark.stories.findings.read import Events, Groups, Messages, Where
from kafkascope_spark.stories.incidents.kinds import KINDS
from kafkascope_spark.stories.tables import INCIDENTS, RECOVERIES

CLIENT = "client_instance_id, client_id, client_ip, kind, principal, software_name, software_version"
"""Columns of a client in connection_clients."""
BEHIND = "more than one broker is behind"
"""Text in connections.node_id_why for an address of several brokers."""
NO_BROKER = "coalesce(kind, '') != 'broker'"
"""Condition for rows whose client is not a broker."""
_INT, _LONG, _TEXT = pa.int32(), pa.int64(), pa.string()


def _messages(name: str, kind: str, **fields: pa.DataType) -> Messages:
    """Declares the messages of a kind, such as `JoinGroup/request`. fields: their fields that queries use."""
    types = {"request_id": _TEXT, "conn_id": _TEXT, "ts_ns": _LONG, **fields}
    columns = tuple(Column(column, of_type, "") for column, of_type in types.items())
    return Messages(name, f"message {kind}", columns, folder=f"messages/{kind}")


def _list_of(**fields: pa.DataType) -> pa.DataType:
    """Returns the type of a list of structs."""
    return pa.list_(pa.struct(fields))


BROKER_HEARTBEAT_REQUESTS = _messages(
    "broker_heartbeat_requests",
    "BrokerHeartbeat/request",
    broker_id=_LONG,
    current_metadata_offset=_LONG,
    want_shut_down=pa.bool_(),
)
BROKER_HEARTBEAT_RESPONSES = _messages(
    "broker_heartbeat_responses", "BrokerHeartbeat/response", is_fenced=pa.bool_(), is_caught_up=pa.bool_()
)
LIST_OFFSETS_REQUESTS = _messages(
    "list_offsets_requests",
    "ListOffsets/request",
    topics=_list_of(name=_TEXT, partitions=_list_of(partition_index=_LONG, timestamp=_LONG)),
)
MESSAGES = (
    BROKER_HEARTBEAT_REQUESTS,
    BROKER_HEARTBEAT_RESPONSES,
    _messages("metadata_responses", "Metadata/response", brokers=_list_of(node_id=_INT, host=_TEXT, port=_INT)),
    _messages(
        "metadata_requests",
        "Metadata/request",
        topics=_list_of(name=_TEXT),
        allow_auto_topic_creation=pa.bool_(),
    ),
    _messages("delete_topics_responses", "DeleteTopics/response", responses=_list_of(name=_TEXT, error_code=_INT)),
    _messages(
        "join_group_requests",
        "JoinGroup/request",
        group_id=_TEXT,
        session_timeout_ms=_LONG,
        rebalance_timeout_ms=_LONG,
    ),
    _messages("leave_group_requests", "LeaveGroup/request", group_id=_TEXT, members=_list_of(reason=_TEXT)),
    _messages(
        "consumer_heartbeat_requests",
        "ConsumerGroupHeartbeat/request",
        group_id=_TEXT,
        member_epoch=_LONG,
        rebalance_timeout_ms=_LONG,
    ),
    _messages("share_fetch_responses", "ShareFetch/response", acquisition_lock_timeout_ms=_LONG),
    LIST_OFFSETS_REQUESTS,
)
"""The messages that queries select from, each with its request id, connection and time."""

USAGE = Events("usage")
USED = Where(USAGE, is_replica=False)
"""Usage of connections by clients, and not by brokers for replication."""
EVENTS_BY_NAME = {USAGE.kind: USAGE}
"""Events that queries select from, by kind."""

UNANSWERED_OR_RESET = Where(
    RECOVERIES, resource_kind="connection", first_error_name=("REQUEST_UNANSWERED", "CONNECTION_RESET")
)
"""Recoveries that begin with an unanswered request or a reset."""
LOST_BROKERS = Where(
    INCIDENTS,
    kind=tuple(kind.name for kind in KINDS if kind.cuts_clients),
    clients=longer_than(0),
)
"""Incidents of brokers that served no hosts, or not all."""
ADVISED = "array_join(transform(actions, action -> action.text), ' ') as advice"
"""Expression for the advice of an incident as one text."""
ANSWERING_SERVERS = Groups(
    Where(CONNECTIONS, client_bytes=above(0), server_bytes=above(0)), per=("server_ip", "server_port")
)
"""Servers with both directions in the capture (n_up of servers): isolated_failures are about these."""

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
"""Connections with `server` (its address) and the client of each (CLIENT; null if there is none)."""

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
"""One row per server address. n_there: connections on which the server responded or data was sent; n_up: those with
data in both directions; n_kafka, n_tls, n_sasl, n_worked: those with responses to Kafka requests, with TLS, with SASL,
with more than requests for metadata; all_connections: each of them, with its time."""

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
"""One row per client and broker address in its Metadata responses: host, port, from_server (server of the first
response), advertised_ns and advertised_by (time and request of the first response), n_advertised (number of
responses)."""

_ISOLATED_FAILURES = """
with lost_by_client as (select * except (clients), explode(clients) as client_instance_id from lost_brokers),
episodes as (
    select r.*, resource as server
    from unanswered_or_reset r left anti join lost_by_client o on o.client_instance_id = r.client_instance_id
        and coalesce(o.node_id = r.old_node_id, o.subject = r.resource)
        and o.start_ns <= coalesce(r.recovered_ns, r.start_ns) and r.failing_ns <= coalesce(o.end_ns, r.failing_ns)
)
select e.* except (client_id), c.client_id, c.client_ip, c.kind
from episodes e join clients c on e.client_instance_id = c.client_instance_id
left semi join (select server from servers where n_up > 0) up on e.server = up.server"""
"""One row per recovery of a connection with an unanswered request, or that was reset, while its broker was not lost:
the columns of recoveries, and server."""

SHARED_QUERIES = {
    "unanswered_or_reset": UNANSWERED_OR_RESET.query(RECOVERIES.name),
    "lost_brokers": LOST_BROKERS.query(INCIDENTS.name),
    "connection_clients": _CONNECTION_CLIENTS,
    "owned_connections": _OWNED_CONNECTIONS,
    "servers": _SERVERS,
    "advertised_brokers": _ADVERTISED_BROKERS,
    "isolated_failures": _ISOLATED_FAILURES,
}
