"""Turns rows of events (event_reader.EVENT_ROWS) into the typed objects that the machines over clients are fed."""

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.row_types import column_converters, column_fields
from kafkascope_analyzer.dataset.tables.events import CLIENT_KINDS, KINDS, RANKS
from kafkascope_spark.event_reader import values_of
from kafkascope_spark.stories.clients.events import CLIENT_EVENTS
from kafkascope_spark.stories.flow.events import FLOW_EVENTS
from kafkascope_spark.stories.groups.bodies import GROUP_EVENTS
from kafkascope_spark.stories.model import ErrorRun, Lookup, LoopStatistics, Request
from kafkascope_spark.stories.servers.events import SERVER_EVENTS
from kafkascope_spark.stories.stage_rows import BODY, unpacked
from kafkascope_spark.stories.stalls.events import SERVICE_EVENTS
from kafkascope_spark.stories.transactions.bodies import TRANSACTION_EVENTS

Key = tuple[str, int, int, int]
"""What a row is sorted by: client_ip, section, ts_ns, rank."""
EventRow = tuple[Key, Any]
"""A row's key and its body, an object of the kind; None for an event of a group or of a transaction, which the machines
over clients pass on."""
Values = tuple[Any, ...]
CONNECTION, USAGE, SAMPLES, LEARNED = (RANKS[kind] for kind in ("connection", "usage", "samples", "learned"))
LOOP, SILENCE, LOOKUP = (RANKS[kind] for kind in ("loop", "silence", "lookup"))
REQUEST, ERROR_RUN, PARTITION = (RANKS[kind] for kind in ("request", "error_run", "partition"))
_COLUMNS = ("client_ip", "section", "ts_ns", "rank", "conn_id")
_FROM_KEYS = ("conn_id", "ts_ns")
"""Columns that an object has beside those of its struct."""


def event_rows(batch: pa.RecordBatch) -> Iterator[EventRow]:
    """The rows of a batch of EVENT_ROWS, in its order."""
    columns = [values_of(batch.column(name)) for name in _COLUMNS]
    for client_ip, section, ts_ns, rank, conn_id, body in zip(*columns, batch.column(BODY).to_pylist(), strict=True):
        decode = _DECODERS.get(rank)
        yield (client_ip or "", section, ts_ns, rank), decode and decode(conn_id, ts_ns, unpacked(body))


def event_row(row: Mapping[str, Any]) -> EventRow:
    """One row from a dict: the columns of `events`, as pyarrow's to_pylist gives them; others may be missing."""
    kind = next(kind for kind in reversed(CLIENT_KINDS) if row.get(kind) is not None)
    body = _values(kind, row)
    if kind == "error_run" and row.get("request") is not None:
        body += (_values("request", row),)
    key = (row.get("client_ip") or "", row["section"], row["ts_ns"], RANKS[kind])
    return key, _DECODERS[RANKS[kind]](row.get("conn_id", ""), row["ts_ns"], body)


def _values(kind: str, row: Mapping[str, Any]) -> Values:
    return tuple(row[kind].get(name) for name in KINDS[kind].names)


def shared_event(kind: str, values: Values) -> Any:
    """An event that the machines over clients pass on: an object of SHARED_EVENTS."""
    return _SHARED[kind](values)


def _shared_object_of(kind: str, make: Callable[..., Any]) -> Callable[[Values], Any]:
    """A function that makes an object of the values of a struct; fields with defaults are no part of it."""
    names = KINDS[kind].names
    fields = column_fields(make)
    in_order = itemgetter(*(names.index(name) for name in fields))
    inner = [(at, column_converters(make)[name]) for at, name in enumerate(fields) if _is_struct(kind, name)]
    if not inner:
        return lambda values: make(*in_order(values))

    def decode(values: Values) -> Any:
        columns = list(in_order(values))
        for at, convert in inner:
            columns[at] = convert(columns[at])
        return make(*columns)

    return decode


def _is_struct(kind: str, name: str) -> bool:
    return bool(pa.types.is_struct(KINDS[kind].field(name).type))


SHARED_EVENTS: dict[str, Callable[..., Any]] = {
    **FLOW_EVENTS,
    **GROUP_EVENTS,
    **SERVER_EVENTS,
    **SERVICE_EVENTS,
    **TRANSACTION_EVENTS,
}
"""What the events of a kind become."""
_SHARED = {kind: _shared_object_of(kind, make) for kind, make in SHARED_EVENTS.items()}


Decoder = Callable[[str, int, Values], Any]
"""Takes conn_id, ts_ns and the body of a row."""


def _object_of(kind: str, make: Callable[..., Any], fields: tuple[str, ...]) -> Decoder:
    """A function that gives what `make` makes of the values of these fields, in their order."""
    places = {name: place for place, name in enumerate((*_FROM_KEYS, *KINDS[kind].names))}
    in_order = itemgetter(*(places[name] for name in fields))

    def decode(conn_id: str, ts_ns: int, values: Values) -> Any:
        return make(*in_order((conn_id, ts_ns, *values)))

    return decode


def _event_of(kind: str, make: Any) -> Decoder:
    """A function that gives an object of the class, whose fields have the names of the struct's."""
    return _object_of(kind, make, tuple(make.__dataclass_fields__))


def _request(*values: Any) -> Request:
    """The request, with defaults for what a row leaves open."""
    request = Request(*values)
    request.error_code = request.error_code or 0
    if request.request_last_ns is None:
        request.request_last_ns = request.ts_ns
    if request.status != "ok":
        request.response_ns = None
    return request


def _lookup(name: str | None, ts_ns: int, answer_ns: int | None, rcode: str | None, addresses: list[str]) -> Lookup:
    return Lookup(name or "", ts_ns, answer_ns, rcode, tuple(addresses or ()))


_decode_request = _object_of("request", _request, tuple(Request.__dataclass_fields__))
_decode_run = _object_of(
    "error_run", ErrorRun, tuple(name for name in ErrorRun.__dataclass_fields__ if name != "request")
)
_N_RUN_FIELDS = KINDS["error_run"].num_fields


def _error_run(conn_id: str, ts_ns: int, values: Values) -> ErrorRun:
    run: ErrorRun = _decode_run(conn_id, ts_ns, values)
    for request in values[_N_RUN_FIELDS:]:
        run.request = _decode_request(conn_id, ts_ns, request)
    return run


_DECODERS: dict[int, Decoder] = {
    **{RANKS[kind]: _event_of(kind, make) for kind, make in CLIENT_EVENTS.items()},
    LOOP: _object_of("loop", LoopStatistics, ("conn_id", "cadence", "n", "p50", "p99", "max")),
    LOOKUP: _object_of("lookup", _lookup, ("name", "ts_ns", "answer_ns", "rcode", "addresses")),
    REQUEST: _decode_request,
    ERROR_RUN: _error_run,
}
