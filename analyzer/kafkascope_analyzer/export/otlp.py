"""Spans in the JSON of the OpenTelemetry protocol (OTLP 1), which an OpenTelemetry collector reads from files.

A start of a client is a trace with its steps as child spans. An incident is a trace with its stalls and recoveries as
child spans; the steps of recoveries are events. Exchanges (requests with their responses) are optional spans; where the
dataset has records with their headers, a Produce has links to the traces in `traceparent` (W3C Trace Context). Ids are
made from the dataset's ids, so that two exports are the same.

Sources: opentelemetry-proto 1.x (trace.proto; ids are hexadecimal in JSON, 64-bit numbers are texts), semantic
conventions for messaging.
"""

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.sql.database import Database

INTERNAL, CLIENT = 1, 3
"""SpanKind."""
OK, ERROR = 1, 2
"""StatusCode."""
MOST_IN_MESSAGE = 1_000
"""Spans per line: a collector takes each line as one message."""
_TRACEPARENT = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")
_STARTS = """
select s.startup_id as trace, s.startup_id as id, null as parent, 'start of ' || coalesce(c.kind, 'client') as name,
    coalesce(c.client_id, c.client_ip, '') as service, s.start_ns as from_ns,
    coalesce(s.ready_ns, s.start_ns + coalesce(s.total_us, 0) * 1000) as to_ns,
    s.outcome = 'failed' as failed,
    {'outcome': s.outcome, 'client_instance_id': s.client_instance_id,
    'failed_step': s.failed_step, 'error': s.error_name, 'library': c.software_name,
    'evidence': s.evidence} as attributes
from startups s left join clients c using (client_instance_id)
union all by name
select t.startup_id as trace, t.startup_id || '/' || t.seq as id, t.startup_id as parent, t.step as name,
    coalesce(c.client_id, c.client_ip, '') as service, t.start_ns as from_ns, coalesce(t.end_ns, t.start_ns) as to_ns,
    t.outcome <> 'ok' as failed, {'subject': t.subject, 'node_id': t.node_id, 'attempt': t.attempt,
    'outcome': t.outcome, 'error': t.error_name, 'on_critical_path': t.on_critical_path, 'conn_id': t.conn_id,
    'request_ids': t.request_ids}
    as attributes
from startup_steps t join startups s using (startup_id) left join clients c using (client_instance_id)
order by from_ns, id
"""
_INCIDENTS = """
with last as (select max(last_ns) as capture_end_ns from captures)
select i.incident_id as trace, i.incident_id as id, null as parent, i.kind as name, 'kafka ' || i.cluster as service,
    i.start_ns as from_ns, coalesce(i.end_ns, capture_end_ns) as to_ns, i.severity = 'error' as failed,
    {'severity': i.severity, 'subject': i.subject, 'node_id': i.node_id, 'sentence': i.sentence,
    'confidence': i.confidence, 'is_over': i.ending = 'over', 'evidence': i.evidence} as attributes
from incidents i cross join last
union all by name
select s.incident_id as trace, s.stall_id as id, s.incident_id as parent, 'stall: ' || s.kind as name,
    coalesce(s.client_id, s.client_ip, s.group_id, '') as service, s.from_ns, coalesce(s.to_ns,
    capture_end_ns) as to_ns,
    true as failed, {'topic': s.topic, 'partition': s.partition, 'group': s.group_id, 'node_id': s.node_id,
    'waited_ms': s.waited_ms, 'served': s.served, 'errors': s.error_names, 'evidence': s.evidence} as attributes
from stalls s cross join last where s.incident_id is not null
union all by name
select r.incident_id as trace, r.recovery_id as id, r.incident_id as parent, 'recovery: ' || r.resource_kind as name,
    coalesce(r.client_id, '') as service, r.start_ns as from_ns, coalesce(r.recovered_ns, capture_end_ns) as to_ns,
    r.outcome not in ('recovered', 'served_elsewhere') as failed, {'resource': r.resource, 'outcome': r.outcome,
    'errors': r.error_names, 'reaction': r.reaction, 'old_node_id': r.old_node_id, 'new_node_id': r.new_node_id,
    'evidence': r.evidence} as attributes
from recoveries r cross join last where r.incident_id is not null
order by trace, from_ns, id
"""
_EXCHANGES = """
select r.conn_id as trace, r.request_id as id, null as parent, r.api_name as name,
    coalesce(r.client_id, r.client_ip) as service, r.ts_ns as from_ns,
    greatest(coalesce(r.response_last_ns, r.response_ns, r.request_last_ns, r.ts_ns), r.ts_ns) as to_ns,
    r.error_code <> 0 or r.status = 'unanswered' as failed, {'messaging.system': 'kafka', 'api_version': r.api_version,
    'node_id': r.node_id, 'server.address': r.server_ip, 'server.port': r.server_port, 'client.address': r.client_ip,
    'client.port': r.client_port, 'correlation_id': r.correlation_id, 'error': r.error_name, 'status': r.status,
    'latency_us': r.latency_us, 'request_packet_no': r.request_packet_no, 'response_packet_no': r.response_packet_no,
    'messaging.consumer.group.name': r.group_id} as attributes
from requests r where r.ts_ns is not null and r.api_name is not null
order by from_ns, id
"""
_PARENTS = """
select request_id, list(distinct header_values[list_position(header_names, 'traceparent')]) as parents
from records where api_key = 0 and list_contains(header_names, 'traceparent') and header_values is not null
group by request_id
"""


def otlp(database: Database, *, exchanges: bool) -> Iterator[str]:
    """Yields the lines of JSON, each a message of its own. Raises UsageError where a table cannot be read."""
    yield from _lines(database, _STARTS, INTERNAL, "startups", {})
    yield from _lines(database, _INCIDENTS, INTERNAL, "incidents", {})
    if exchanges:
        yield from _lines(database, _EXCHANGES, CLIENT, "requests", _parents(database))


def _parents(database: Database) -> dict[str, list[bytes]]:
    """Returns the values of traceparent in the records of each request."""
    if not database.has("records"):
        return {}
    _, rows = database.query(_PARENTS)
    return {request_id: [value for value in parents if value] for request_id, parents in rows}


def _lines(database: Database, query: str, kind: int, table: str, parents: dict[str, list[bytes]]) -> Iterator[str]:
    if not database.has(table):
        return
    names, rows = database.query(query)
    waiting: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        found = dict(zip(names, row, strict=True))
        waiting.append((str(found["service"]), _span(found, kind, parents.get(found["id"], []))))
        if len(waiting) == MOST_IN_MESSAGE:
            yield _message(waiting)
            waiting = []
    if waiting:
        yield _message(waiting)


def _message(spans: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """Returns TracesData: the spans of each service together."""
    services: dict[str, list[dict[str, Any]]] = {}
    for service, span in spans:
        services.setdefault(service, []).append(span)
    resources = [
        {
            "resource": {"attributes": _attributes({"service.name": service or "unknown"})},
            "scopeSpans": [{"scope": {"name": "kafkascope"}, "spans": listed}],
        }
        for service, listed in services.items()
    ]
    return json.dumps({"resourceSpans": resources}, ensure_ascii=True) + "\n"


def _span(row: dict[str, Any], kind: int, parents: list[bytes]) -> dict[str, Any]:
    span: dict[str, Any] = {
        "traceId": _hash(row["trace"], 16),
        "spanId": _hash(row["id"], 8),
        "name": safe(row["name"]),
        "kind": kind,
        "startTimeUnixNano": str(row["from_ns"]),
        "endTimeUnixNano": str(max(row["to_ns"], row["from_ns"])),
        "attributes": _attributes({"kafkascope.id": row["id"], **row["attributes"]}),
        "status": {"code": ERROR if row["failed"] else OK},
    }
    if row["parent"] is not None:
        span["parentSpanId"] = _hash(row["parent"], 8)
    links = [match for match in map(_TRACEPARENT.fullmatch, parents) if match]
    if links:
        span["links"] = [{"traceId": match[1].decode(), "spanId": match[2].decode()} for match in links]
    return span


def _hash(text: str, size: int) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_value(part) for part in value]}}
    return {"stringValue": safe(value)}
