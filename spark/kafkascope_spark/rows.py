"""Typed objects from rows: the structs of events.client_events, as dicts."""

from kafkascope_spark.wire import Connection, Failure, Request, Row, Touch

_REQUEST_FIELDS = tuple(f for f in Request.__dataclass_fields__)
_FAILURE_FIELDS = tuple(f for f in Failure.__dataclass_fields__)


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
        advertised=f"{row['advertised_host']}:{row['advertised_port']}" if row["advertised_host"] else None,
    )


def summarize(connection: Connection, row: Row) -> None:
    """Add what the requests of a connection (under one client id) tell."""
    if connection.client_id is None:
        connection.client_id = row["client_id"]
    connection.software_name = connection.software_name or row["software_name"]
    connection.software_version = connection.software_version or row["software_version"]
    connection.first_request_ns = _least(connection.first_request_ns, row["first_request_ns"])
    connection.last_request_ns = _most(connection.last_request_ns, row["last_request_ns"])
    connection.ids = sorted([*connection.ids, *((s["ts_ns"], s["correlation_id"]) for s in row["ids"] or ())])
    connection.last_id = _most(connection.last_id, row["last_id"])
    if connection.first_api is None and row["first_call"] is not None:
        connection.first_api = row["first_call"]["api_key"]
    connection.produce_span = connection.produce_span or _span(row["first_produce_ns"], row["last_produce_ns"])
    connection.fetch_span = connection.fetch_span or _span(row["first_fetch_ns"], row["last_fetch_ns"])
    connection.producer_ids |= set(row["producer_ids"] or ())
    connection.apis |= set(row["apis"] or ())
    connection.groups |= set(row["groups"] or ())
    sought = [(s["coordinator_type"], s["coordinator_key"]) for s in row["sought"] or ()]
    connection.sought |= {(kind, key) for kind, key in sought if kind and key}
    connection.members |= set(row["members"] or ())
    connection.member_first_ns = _least(connection.member_first_ns, row["member_first_ns"])
    connection.member_last_ns = _most(connection.member_last_ns, row["member_last_ns"])
    connection.group_instances |= set(row["group_instances"] or ())
    connection.transactional_ids |= set(row["transactional_ids"] or ())
    connection.txn_v2 = connection.txn_v2 or bool(row["txn_v2"])
    connection.is_replica = connection.is_replica or bool(row["is_replica"])


def learn(connection: Connection, row: Row) -> None:
    """Add what the answers and the records on a connection tell."""
    connection.told |= set(row["servers"] or ())
    connection.producer_ids |= set(row["producer_ids"] or ())
    answers = sorted((s["ts_ns"], s["correlation_id"]) for s in row["answer_ids"] or ())
    if connection.first_request_ns is None:
        connection.ids = answers


def _span(first: int | None, last: int | None) -> tuple[int, int] | None:
    return None if first is None or last is None else (first, last)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def request_of(row: Row) -> Request:
    """The request."""
    request = Request(**{name: row[name] for name in _REQUEST_FIELDS})
    request.error_code = request.error_code or 0
    if request.request_last_ns is None:
        request.request_last_ns = request.ts_ns
    if request.status != "ok":
        request.response_ns = None
    return request


def failure_of(row: Row) -> Failure:
    """The error code."""
    return Failure(**{name: row[name] for name in _FAILURE_FIELDS})


def touch_of(row: Row) -> Touch:
    """The mention of a topic-partition."""
    return Touch(**row)
