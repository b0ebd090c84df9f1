"""Makes a `Connection` from the events about a whole connection: its own row, and rows that add facts to it."""

from collections.abc import Callable
from typing import Any

from kafkascope_analyzer.dataset.tables.event_kinds.connections import (
    ClosedWindow,
    ConnectionEvent,
    Learned,
    LoopStatistics,
    Samples,
    Silence,
    Usage,
)
from kafkascope_analyzer.dataset.tables.event_kinds.event import ClientEvent
from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperConnection
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.model import Connection, TlsGivenUp

TXN_V2_APIS, TXN_V2_VERSION = frozenset({api_keys.END_TXN, api_keys.TXN_OFFSET_COMMIT}), 5
"""APIs and version that show transactions v2 (KIP-890): EndTxn 5 and TxnOffsetCommit 5 are sent only if
transaction.version is 2."""
UNKNOWN_VERSION = -1
"""Version of requests that are known only from the lengths of TLS records."""


def connection_of(row: ConnectionEvent) -> Connection:
    """Returns the connection, without the facts that its requests show."""
    return Connection(
        conn_id=row.conn_id,
        client_port=row.client_port or 0,
        server=f"{row.server_ip}:{row.server_port}",
        node_id=row.node_id,
        protocol=row.protocol or "empty",
        first_ns=row.first_ns or 0,
        last_ns=row.last_ns or row.first_ns or 0,
        syn_ns=row.syn_ns,
        up_ns=row.synack_ns,
        close_kind=row.close_kind or "open",
        close_ns=row.close_ns,
        idle_ms=row.idle_before_close_ms,
        tls=row.tls_version is not None,
        sasl_mechanism=row.sasl_mechanism,
        principal=row.principal,
        software_name=row.software_name,
        software_version=row.software_version,
        n_requests=row.n_requests or 0,
        n_responses=row.n_responses or 0,
        n_errors=row.n_errors or 0,
        server_bytes=row.server_bytes or 0,
        near_idle_ms=row.near_idle_ms,
        refused_after=row.refused_after or 0,
        advertised=f"{row.advertised_host}:{row.advertised_port}" if row.advertised_host else None,
        session_lifetime_ms=row.session_lifetime_ms,
        tls_ja4=row.tls_ja4,
        names_server=None if row.tls_ja4 is None else row.tls_sni is not None,
        tls_given_up=None if row.claimed_requests else _tls_given_up(row),
        n_claimed=row.claimed_requests,
        claimed_job=row.claimed_job,
        claimed_first_bytes=row.claimed_first_bytes,
        tls_claimed_library=row.tls_claimed_library,
    )


def _tls_given_up(row: ConnectionEvent) -> TlsGivenUp | None:
    if row.tls_failure is None:
        return None
    side = "server" if row.tls_client_alert is None else "client"
    return TlsGivenUp(side, row.tls_client_alert or row.tls_server_alert or row.tls_failure, row.tls_failure)


def zookeeper_connection(client_ip: str, row: ConnectionEvent) -> ZooKeeperConnection:
    """Returns a connection of the address that uses ZooKeeper's protocol."""
    return ZooKeeperConnection(
        conn_id=row.conn_id,
        client_ip=client_ip,
        server_ip=row.server_ip,
        server_port=row.server_port,
        zookeeper_session=row.zookeeper_session,
        zookeeper_timeout_ms=row.zookeeper_timeout_ms,
        zookeeper_closed=bool(row.zookeeper_closed),
        first_ns=row.first_ns or 0,
        last_ns=row.last_ns or 0,
        close_ns=row.close_ns,
        close_kind=row.close_kind,
        idle_before_close_ms=row.idle_before_close_ms,
    )


def add_usage(connection: Connection, row: Usage) -> None:
    """Adds the facts that one kind of request shows; rows come in order of the first request."""
    if connection.client_id is None:
        connection.client_id = row.client_id
    connection.software_name = connection.software_name or row.software_name
    connection.software_version = connection.software_version or row.software_version
    connection.first_request_ns = _least(connection.first_request_ns, row.ts_ns)
    connection.last_request_ns = _most(connection.last_request_ns, row.last_ns)
    connection.last_answered_ns = _most(connection.last_answered_ns, row.last_answered_ns)
    connection.last_id = _most(connection.last_id, row.last_correlation_id)
    connection.max_wait_ms = _most(connection.max_wait_ms, row.max_wait_ms)
    if (row.correlation_id or 0) >= api_keys.FIRST_RESERVED_CORRELATION_ID:
        connection.has_reserved_ids = True
    _add_api(connection, row)
    _add_names(connection, row)


def _add_api(connection: Connection, row: Usage) -> None:
    key, version = row.api_key, row.api_version
    if connection.first_api is None and key not in api_keys.HANDSHAKE_APIS:
        connection.first_api = key
    connection.record_bytes[key] = connection.record_bytes.get(key, 0) + (row.total_record_bytes or 0)
    if key == api_keys.PRODUCE:
        connection.produce_span = _wider(connection.produce_span, row.ts_ns, row.last_ns)
        if row.status == "ok" and not row.failed and row.response_ns is not None:
            connection.first_accepted_ns = _least(connection.first_accepted_ns, row.response_ns)
    if key == api_keys.FETCH:
        connection.fetch_span = _wider(connection.fetch_span, row.ts_ns, row.last_ns)
    if key == api_keys.JOIN_GROUP:
        connection.last_join_ns = _most(connection.last_join_ns, row.last_ns)
    connection.served = connection.served or (row.status == "ok" and key not in api_keys.HANDSHAKE_APIS)
    connection.apis.add(key)
    if version is not None:
        connection.versions.setdefault(key, version)
        connection.txn_v2 = connection.txn_v2 or (key in TXN_V2_APIS and version >= TXN_V2_VERSION)
    connection.is_replica = connection.is_replica or row.is_replica
    connection.has_left = connection.has_left or row.n_leaves > 0


def _add_names(connection: Connection, row: Usage) -> None:
    """Adds the producer, group, member and transactional ids, by which the client of a connection is identified."""
    if row.producer_id is not None:
        connection.producer_ids.add(row.producer_id)
    if row.group_id is not None:
        known_ns = connection.groups.get(row.group_id, row.ts_ns)
        connection.groups[row.group_id] = min(known_ns, row.ts_ns)
    if row.coordinator_type and row.coordinator_key:
        sought = (row.coordinator_type, row.coordinator_key)
        connection.sought[sought] = min(connection.sought.get(sought, row.ts_ns), row.ts_ns)
    if row.group_instance_id is not None:
        connection.group_instances.add(row.group_instance_id)
    if row.transactional_id is not None:
        connection.transactional_ids.add(row.transactional_id)
    if (row.member_id or connection.is_encrypted) and row.api_key in api_keys.GROUP_APIS:
        connection.members.update(filter(None, [row.member_id]))
        connection.member_first_ns = _least(connection.member_first_ns, row.ts_ns)
        connection.member_last_ns = _most(connection.member_last_ns, row.last_ns)


def add_samples(connection: Connection, row: Samples) -> None:
    """Adds samples of the correlation ids; those of responses only if no request was seen."""
    if row.of_answers and connection.first_request_ns is not None:
        return
    connection.ids = sorted([*connection.ids, *zip(row.times, row.correlation_ids, strict=True)])


def add_learned(connection: Connection, row: Learned) -> None:
    """Adds the facts that responses on the connection show."""
    connection.named_servers |= set(row.servers or ())
    connection.producer_ids |= set(row.producer_ids or ())
    connection.session_timeout_ms = row.session_timeout_ms
    connection.rebalance_timeout_ms = row.rebalance_timeout_ms
    connection.heartbeat_interval_ms = row.heartbeat_interval_ms


def add_loop(connection: Connection, loop: LoopStatistics) -> None:
    """Adds the percentiles of a loop."""
    connection.cadences.append(loop)


def add_silence(connection: Connection, silence: Silence) -> None:
    """Adds an unusually long time in which the client sent nothing."""
    connection.silences.append(silence)


def add_closed_window(connection: Connection, closed: ClosedWindow) -> None:
    """Adds a time in which the client did not read received data."""
    connection.closed_windows.append(closed)


ADDERS: dict[type[ClientEvent], Callable[[Connection, Any], None]] = {
    Usage: add_usage,
    Samples: add_samples,
    Learned: add_learned,
    LoopStatistics: add_loop,
    Silence: add_silence,
    ClosedWindow: add_closed_window,
}
"""Class of an event about a whole connection -> function that adds it."""


def first_request(usage: Usage) -> Request | None:
    """Returns the first request of a kind that healthy clients send all the time, if it succeeded; None otherwise, as
    other requests have their own events. On encrypted connections, where no version is known, no request has its own
    event, so it is returned in any case."""
    if usage.api_version is not None and (usage.api_key not in api_keys.STEADY_APIS or usage.failed):
        return None
    return Request(
        request_id=f"{usage.conn_id}-{usage.first_number}",
        conn_id=usage.conn_id,
        node_id=usage.node_id,
        api_key=usage.api_key,
        api_name=usage.api_name,
        api_version=UNKNOWN_VERSION if usage.api_version is None else usage.api_version,
        correlation_id=usage.correlation_id or 0,
        ts_ns=usage.ts_ns,
        request_last_ns=usage.ts_ns if usage.request_last_ns is None else usage.request_last_ns,
        response_ns=usage.response_ns,
        latency_us=usage.latency_us,
        broker_us=usage.broker_us,
        error_code=0,
        error_name=None,
        status=usage.status,
        group_id=usage.group_id,
        member_id=usage.member_id,
        group_instance_id=usage.group_instance_id,
        generation_or_epoch=usage.generation_or_epoch,
        transactional_id=usage.transactional_id,
        max_wait_ms=usage.max_wait_ms,
        coordinator_type=usage.coordinator_type,
        coordinator_key=usage.coordinator_key,
        sasl_mechanism=None,
        n_records=usage.n_records,
        response_last_ns=usage.response_last_ns,
        client_id=usage.client_id,
        throttle_ms=None,
        in_flight=None,
        n_errors=None,
        n_partitions=None,
    )


def _wider(span: tuple[int, int] | None, first: int, last: int) -> tuple[int, int]:
    return (first, last) if span is None else (min(span[0], first), max(span[1], last))


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)
