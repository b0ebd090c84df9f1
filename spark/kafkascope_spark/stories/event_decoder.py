"""Decodes rows of events (event_reader.EVENT_ROWS) into objects of their classes, which the machines take."""

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from operator import itemgetter
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa

from kafkascope_analyzer.dataset.row_types import column_fields, without_null
from kafkascope_analyzer.dataset.tables.event_kinds.event import ClientEvent
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, RANKS
from kafkascope_spark.event_reader import values_of
from kafkascope_spark.stories.stage_rows import BODY, unpacked

Key = tuple[str, int, int, int]
"""Sort key of a row: client_ip, section, ts_ns, rank."""
EventRow = tuple[Key, ClientEvent | None]
"""A row's key and its event; None for an event of several clients, which the machines over clients pass on."""
Values = tuple[Any, ...]
"""Values of a struct in the order of its fields. Lists are tuples, and nested structs are tuples of values."""
_COLUMNS = ("client_ip", "section", "ts_ns", "rank", "conn_id")


def event_rows(batch: pa.RecordBatch) -> Iterator[EventRow]:
    """Yields the rows of a batch of EVENT_ROWS, in its order."""
    columns = [values_of(batch.column(name)) for name in _COLUMNS]
    for client_ip, section, ts_ns, rank, conn_id, body in zip(*columns, batch.column(BODY).to_pylist(), strict=True):
        decode = _CLIENT_DECODERS.get(rank)
        yield (client_ip or "", section, ts_ns, rank), decode and decode(conn_id, ts_ns, unpacked(body))


def shared_event(kind: str, values: Values) -> Any:
    """Makes an event of several clients from the values of its struct."""
    return _MAKERS[kind](values)


Maker = Callable[[Values], Any]


def _maker(kind: Any, names: tuple[str, ...]) -> Maker:
    """Returns a function that makes an object of a dataclass from the values of its columns. names: the columns in
    their order."""
    order = column_fields(kind)
    hints = get_type_hints(kind)
    in_order = itemgetter(*map(names.index, order)) if order != names else None
    converters = [(at, convert) for at, name in enumerate(order) if (convert := _converter(hints[name])) is not None]

    def make(values: Values) -> Any:
        if in_order is not None:
            values = in_order(values)
        if not converters:
            return kind(*values)
        converted = list(values)
        for at, convert in converters:
            converted[at] = convert(converted[at])
        return kind(*converted)

    return make


def _converter(hint: Any) -> Callable[[Any], Any] | None:
    """Returns the function that converts the value of a field, None if it needs no conversion. Structs become objects;
    null becomes an empty list, or an object without values, if the field's type has no None."""
    hint, may_be_null = without_null(hint)
    if get_origin(hint) is tuple:
        of_element = _converter(get_args(hint)[0])
        if of_element is not None:
            return lambda values: None if values is None and may_be_null else tuple(map(of_element, values or ()))
        return None if may_be_null else lambda values: values or ()
    if not is_dataclass(hint):
        return None
    make, nothing = _maker(hint, column_fields(hint)), (None,) * len(column_fields(hint))
    return lambda values: None if values is None and may_be_null else make(values or nothing)


_MAKERS: dict[str, Maker] = {name: _maker(each, each.KIND.names) for name, each in EVENT_CLASSES.items()}
"""Kind -> function that makes an event from the values of its struct."""
Decoder = Callable[[str, int, Values], ClientEvent]
"""Function that makes an event from the conn_id, the ts_ns and the body of a row."""


def _decoder(make: Maker) -> Decoder:
    def decode(conn_id: str, ts_ns: int, values: Values) -> ClientEvent:
        event: ClientEvent = make(values)
        event.conn_id, event.ts_ns = conn_id, ts_ns
        return event

    return decode


def _error_run(conn_id: str, ts_ns: int, values: Values) -> ErrorRun:
    """Makes an error run. Its body continues with the values of its first request."""
    run: ErrorRun = _MAKERS["error_run"](values[:_N_RUN_FIELDS])
    run.conn_id, run.ts_ns = conn_id, ts_ns
    for request in values[_N_RUN_FIELDS:]:
        run.request = _MAKERS["request"](request)
        run.request.conn_id = conn_id
    return run


_N_RUN_FIELDS = len(ErrorRun.KIND.names)
_CLIENT_DECODERS: dict[int, Decoder] = {
    RANKS[name]: _decoder(_MAKERS[name]) for name, each in EVENT_CLASSES.items() if issubclass(each, ClientEvent)
}
_CLIENT_DECODERS[RANKS[ErrorRun.KIND.name]] = _error_run
