"""Arrow batches of events.client_events as rows for the state machine (client_stories).

Values are taken column by column: a scalar at a time (to_pylist) would cost more than all that follows. The body of an
event is in the list column of its kind, which holds one struct for such an event and is null for any other.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kafkascope_spark.rows import KINDS, EventRow, settled
from kafkascope_spark.runs import Run, runs_of
from kafkascope_spark.wire import Failure, Request, Row, Touch

_FIELDS: dict[type, tuple[str, ...]] = {t: tuple(t.__dataclass_fields__) for t in (Request, Failure, Touch)}


def event_rows(batch: pa.RecordBatch) -> Iterator[EventRow]:
    """The rows of the batch, in its order; long stretches of the same failure as one runs.Run each, with the key of
    the first row."""
    at = 0
    for begin, end in runs_of(batch):
        yield from single_rows(batch.slice(at, begin - at))
        run = Run(batch.slice(begin, end - begin), single_rows)
        yield run.first_key, run
        at = end
    yield from single_rows(batch.slice(at) if at else batch)


def single_rows(batch: pa.RecordBatch) -> Iterator[EventRow]:
    """The rows of the batch, each of its own, in its order."""
    bodies = {kind: _BODIES[name](batch.column(name).flatten()) for kind, name in KINDS.items()}
    keys = [values_of(batch.column(name)) for name in ("client_ip", "section", "ts_ns", "rank")]
    for client_ip, section, ts_ns, rank in zip(*keys, strict=True):
        yield (client_ip, section, ts_ns or 0, rank), next(bodies[section, rank])


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
    known = column.is_valid().to_numpy(zero_copy_only=False).tolist()
    return [number if is_known else None for number, is_known in zip(numbers, known, strict=True)]


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


def _columns(structs: pa.Array, names: tuple[str, ...]) -> list[list[Any]]:
    return [values_of(structs.field(name)) for name in names]


def _dicts(structs: pa.Array) -> Iterator[Row]:
    names = tuple(field.name for field in structs.type)
    for values in zip(*_columns(structs, names), strict=True):
        yield dict(zip(names, values, strict=True))


def _requests(structs: pa.Array) -> Iterator[Request]:
    return map(settled, map(Request, *_columns(structs, _FIELDS[Request])))


def _failures(structs: pa.Array) -> Iterator[Failure]:
    return map(Failure, *_columns(structs, _FIELDS[Failure]))


def _touches(structs: pa.Array) -> Iterator[Touch]:
    return map(Touch, *_columns(structs, _FIELDS[Touch]))


_BODIES: dict[str, Callable[[pa.Array], Iterator[Any]]] = {
    **dict.fromkeys(KINDS.values(), _dicts),
    "request": _requests,
    "failure": _failures,
    "touch": _touches,
}
