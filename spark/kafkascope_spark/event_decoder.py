"""Turns Arrow batches of events into the typed objects that the state machines over clients are fed.

Values are taken column by column: a scalar at a time (to_pylist) would cost more than all that follows. The struct of
an event is in the list column of its kind, which holds one struct in a row that has it and is null in any other.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.tables.events import CLIENT_KINDS, KINDS, RANKS
from kafkascope_spark.model import ErrorRun, Lookup, PartitionAccess, Request, Row

Key = tuple[str, int, int, int]
"""What a row is sorted by: client_ip, section, ts_ns, rank."""
EventRow = tuple[Key, Any]
"""A row's key and its body: a Request, ErrorRun, PartitionAccess or Lookup, or the struct as a dict; None for an event
of a group or of a transaction, which the machines over clients pass on."""
CONNECTION, USAGE, SAMPLES, LEARNED = (RANKS[kind] for kind in ("connection", "usage", "samples", "learned"))
LOOP, SILENCE, LOOKUP = (RANKS[kind] for kind in ("loop", "silence", "lookup"))
REQUEST, ERROR_RUN, PARTITION = (RANKS[kind] for kind in ("request", "error_run", "partition"))
KEY_COLUMNS = ("client_ip", "section", "ts_ns", "rank")
_FROM_KEYS = ("conn_id", "ts_ns")
"""Columns that an object has beside those of its struct."""


def event_rows(batch: pa.RecordBatch) -> Iterator[EventRow]:
    """The rows of a batch, in its order. Its columns: KEY_COLUMNS, conn_id, and a list column of each client kind."""
    bodies = {RANKS[kind]: read(_structs(batch, kind)) for kind, read in _READERS.items()}
    keys = [values_of(batch.column(name)) for name in KEY_COLUMNS]
    for client_ip, section, ts_ns, rank in zip(*keys, strict=True):
        body: Any = next(bodies[rank]) if rank in bodies else None
        if rank == ERROR_RUN and body.n > 1:
            body.request = next(bodies[REQUEST])
        yield (client_ip or "", section, ts_ns, rank), body


def shared_bodies(batch: pa.RecordBatch) -> Iterator[Row]:
    """The structs of the rows of a batch, none of which is of a client kind, as dicts."""
    bodies = {kind: _dicts(_fields(batch.column(kind))) for kind in KINDS if kind not in CLIENT_KINDS}
    return (next(bodies[kind]) for kind in values_of(batch.column("kind")))


def event_row(row: Row) -> EventRow:
    """One row from a dict: the columns of `events`, as pyarrow's to_pylist gives them; others may be missing."""
    struct_lists = {kind: None if row.get(kind) is None else [row[kind]] for kind in CLIENT_KINDS}
    kind = next(kind for kind in reversed(CLIENT_KINDS) if struct_lists[kind] is not None)
    return next(event_rows(pa.RecordBatch.from_pylist([row | struct_lists | {"rank": RANKS[kind]}], LIST_SCHEMA)))


LIST_SCHEMA = pa.schema(
    [
        ("client_ip", pa.string()),
        ("section", pa.int8()),
        ("ts_ns", pa.int64()),
        ("rank", pa.int8()),
        ("conn_id", pa.string()),
        *((kind, pa.list_(struct)) for kind, struct in CLIENT_KINDS.items()),
    ]
)
"""The columns that event_rows reads."""


def values_of(column: pa.Array) -> list[Any]:
    """What column.to_pylist() gives, for the types of the events' schema."""
    if column.null_count == len(column):
        return [None] * len(column)
    if pa.types.is_list(column.type):
        return _lists(column)
    if pa.types.is_struct(column.type):
        return list(column.to_pylist())
    if not pa.types.is_integer(column.type) or not column.null_count:
        return list(column.to_numpy(zero_copy_only=False).tolist())
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    valid = column.is_valid().to_numpy(zero_copy_only=False).tolist()
    return [number if is_valid else None for number, is_valid in zip(numbers, valid, strict=True)]


def _lists(column: pa.Array) -> list[Any]:
    values, at = values_of(column.flatten()), 0
    lists: list[list[Any] | None] = []
    for length in values_of(column.value_lengths()):
        if length is None:
            lists.append(None)
        else:
            lists.append(values[at : at + length])
            at += length
    return lists


def _structs(batch: pa.RecordBatch, kind: str) -> dict[str, pa.Array]:
    """The columns of the structs of a kind, with those of _FROM_KEYS that the struct lacks."""
    column = batch.column(kind)
    is_of_kind = column.is_valid()
    return {name: batch.column(name).filter(is_of_kind) for name in _FROM_KEYS} | _fields(column)


def _fields(column: pa.Array) -> dict[str, pa.Array]:
    """The columns of the structs in the lists of a column."""
    structs = column.flatten()
    return {field.name: structs.field(i) for i, field in enumerate(structs.type)}


def _reader(make: Callable[..., Any], names: tuple[str, ...]) -> Callable[[dict[str, pa.Array]], Iterator[Any]]:
    """A function that makes an object of each row from the columns of those names, in their order."""

    def read(columns: dict[str, pa.Array]) -> Iterator[Any]:
        return map(make, *(values_of(columns[name]) for name in names))

    return read


def _dicts(columns: dict[str, pa.Array]) -> Iterator[Row]:
    names = tuple(columns)
    for values in zip(*(values_of(column) for column in columns.values()), strict=True):
        yield dict(zip(names, values, strict=True))


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


_READERS: dict[str, Callable[[dict[str, pa.Array]], Iterator[Any]]] = {
    **dict.fromkeys(CLIENT_KINDS, _dicts),
    "lookup": _reader(_lookup, ("name", "ts_ns", "answer_ns", "rcode", "addresses")),
    "request": _reader(_request, tuple(Request.__dataclass_fields__)),
    "error_run": _reader(ErrorRun, tuple(name for name in ErrorRun.__dataclass_fields__ if name != "request")),
    "partition": _reader(PartitionAccess, tuple(PartitionAccess.__dataclass_fields__)),
}
