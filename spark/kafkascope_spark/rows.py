"""Typed objects from rows: the structs of events.client_events, as dicts."""

from typing import Any

from kafkascope_spark import wire
from kafkascope_spark.wire import Connection, Failure, Lookup, Measured, Request, Row, Touch

Key = tuple[str, int, int, int]
"""What a row is sorted by: client_ip, section, ts_ns, rank."""
EventRow = tuple[Key, Any]
"""A row's key and its body: a Request, Failure or Touch, or else the struct as a dict."""
CONNECTION, USED, SAMPLED, TOLD, BEAT, LOOKUP = range(6)
"""Ranks in section 0: a connection, and what is known of it; questions to name servers."""
KINDS = {
    (0, CONNECTION): "connection",
    (0, USED): "usage",
    (0, SAMPLED): "samples",
    (0, TOLD): "told",
    (0, BEAT): "beat",
    (0, LOOKUP): "lookup",
    (1, 0): "request",
    (1, 1): "failure",
    (1, 2): "touch",
}
"""Section and rank -> which struct a row has."""

_REQUEST_FIELDS = tuple(f for f in Request.__dataclass_fields__)
_FAILURE_FIELDS = tuple(f for f in Failure.__dataclass_fields__)


def event_row(row: Row) -> EventRow:
    """The row as the state machine takes it, from a dict: the keys, and a struct by its name in KINDS."""
    section, rank = row["section"], row["rank"]
    name = KINDS[section, rank]
    make = {"request": request_of, "failure": failure_of, "touch": touch_of}.get(name)
    body = row[name]
    return (row["client_ip"], section, row["ts_ns"] or 0, rank), make(body) if make else body


def connection_of(row: Row) -> Connection:
    """The connection, without what its requests tell."""
    return Connection(
        conn_id=row["conn_id"],
        client_port=row["client_port"] or 0,
        server=f"{row['server_ip']}:{row['server_port']}",
        node_id=row["node_id"],
        protocol=row["protocol"] or "empty",
        first_ns=row["first_ns"] or 0,
        last_ns=row["last_ns"] or row["first_ns"] or 0,
        syn_ns=row["syn_ns"],
        up_ns=row["synack_ns"],
        close_kind=row["close_kind"] or "open",
        close_ns=row["close_ns"],
        idle_ms=row["idle_before_close_ms"],
        tls=row["tls_version"] is not None,
        sasl_mechanism=row["sasl_mechanism"],
        principal=row["principal"],
        software_name=row["software_name"],
        software_version=row["software_version"],
        n_requests=row["n_requests"] or 0,
        n_errors=row["n_errors"] or 0,
        near_idle_ms=row["near_idle_ms"],
        refused_after=row["refused_after"] or 0,
        advertised=f"{row['advertised_host']}:{row['advertised_port']}" if row.get("advertised_host") else None,
        tls_start_ns=row["tls_start_ns"],
        tls_done_ns=row["tls_done_ns"],
        session_lifetime_ms=row["session_lifetime_ms"],
    )


def add_usage(connection: Connection, row: Row) -> None:
    """Add what one kind of request on a connection tells; rows come in order of the first request."""
    if connection.client_id is None:
        connection.client_id = row["client_id"]
    connection.software_name = connection.software_name or row["software_name"]
    connection.software_version = connection.software_version or row["software_version"]
    connection.first_request_ns = _least(connection.first_request_ns, row["ts_ns"])
    connection.last_request_ns = _most(connection.last_request_ns, row["last_ns"])
    key, version = row["api_key"], row["api_version"]
    if connection.first_api is None and key not in wire.HANDSHAKE_APIS:
        connection.first_api = key
    if key == wire.PRODUCE:
        connection.produce_span = _wider(connection.produce_span, row["ts_ns"], row["last_ns"])
    if key == wire.FETCH:
        connection.fetch_span = _wider(connection.fetch_span, row["ts_ns"], row["last_ns"])
    connection.last_id = _most(connection.last_id, row["last_id"])
    if row["producer_id"] is not None:
        connection.producer_ids.add(row["producer_id"])
    connection.apis.add(key)
    connection.versions.setdefault(key, version)
    connection.txn_v2 = connection.txn_v2 or (key in wire.TXN_V2_APIS and version >= wire.TXN_V2_VERSION)
    connection.is_replica = connection.is_replica or row["is_replica"]
    connection.max_wait_ms = _most(connection.max_wait_ms, row["max_wait_ms"])
    if row["group_id"] is not None:
        connection.groups.add(row["group_id"])
    if row["coordinator_type"] and row["coordinator_key"]:
        connection.sought.add((row["coordinator_type"], row["coordinator_key"]))
    if row["group_instance_id"] is not None:
        connection.group_instances.add(row["group_instance_id"])
    if row["transactional_id"] is not None:
        connection.transactional_ids.add(row["transactional_id"])
    if row["member_id"] and key in wire.GROUP_APIS:
        connection.members.add(row["member_id"])
        connection.member_first_ns = _least(connection.member_first_ns, row["ts_ns"])
        connection.member_last_ns = _most(connection.member_last_ns, row["last_ns"])


def add_samples(connection: Connection, row: Row) -> None:
    """Add samples of the correlation ids; of the answers, only where no request was seen."""
    if row["of_answers"] and connection.first_request_ns is not None:
        return
    connection.ids = sorted([*connection.ids, *zip(row["times"], row["correlation_ids"], strict=True)])


def add_told(connection: Connection, row: Row) -> None:
    """Add what its answers told."""
    connection.told |= set(row["servers"] or ())
    connection.producer_ids |= set(row["producer_ids"] or ())
    connection.session_timeout_ms = row["session_timeout_ms"]
    connection.rebalance_timeout_ms = row["rebalance_timeout_ms"]
    connection.heartbeat_interval_ms = row["heartbeat_interval_ms"]


def add_beat(connection: Connection, row: Row) -> None:
    """Add the percentiles of a loop."""
    measured = Measured(row["conn_id"], row["cadence"], row["n"], row["p50"], row["p99"], row["max"])
    connection.cadences.append(measured)


def first_of(usage: Row) -> Request | None:
    """The first request of a kind that healthy clients send all the time, where it went well; other requests have
    rows of their own."""
    if usage["api_key"] not in wire.HOT_APIS or usage["bad"]:
        return None
    request_id = f"{usage['conn_id']}-{usage['first_no']}"
    unknown = {"error_code": 0, "error_name": None, "sasl_mechanism": None, "throttle_ms": None}
    return request_of({**usage, "request_id": request_id, **unknown})


def _wider(span: tuple[int, int] | None, first: int, last: int) -> tuple[int, int]:
    return (first, last) if span is None else (min(span[0], first), max(span[1], last))


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def request_of(row: Row) -> Request:
    """The request."""
    return settled(Request(**{name: row[name] for name in _REQUEST_FIELDS if name in row}))


def settled(request: Request) -> Request:
    """The request, just made from a row, with what a row may leave open."""
    request.error_code = request.error_code or 0
    if request.request_last_ns is None:
        request.request_last_ns = request.ts_ns
    if request.status != "ok":
        request.response_ns = None
    return request


def failure_of(row: Row) -> Failure:
    """The error code."""
    return Failure(**{name: row[name] for name in _FAILURE_FIELDS})


def lookup_of(row: Row) -> Lookup:
    """The question to a name server."""
    addresses = tuple(row["addresses"] or ())
    return Lookup(row["name"] or "", row["ts_ns"], row["answer_ns"], row["rcode"], addresses)


def touch_of(row: Row) -> Touch:
    """The mention of a topic-partition."""
    return Touch(**row)
