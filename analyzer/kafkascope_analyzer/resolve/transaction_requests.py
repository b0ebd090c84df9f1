"""`transaction_request`: what producers ask the coordinator of their transactional id, with the answers."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.resolve.apis import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.resolve.transaction_apis import (
    COORDINATOR_APIS,
    LEADERS_VERSION,
    V2_END,
    V2_OFFSET_COMMIT,
    grouped,
    is_coordinator_request,
    named_partitions,
)
from kafkascope_analyzer.resolve.transaction_rows import flat, with_seq

_COLUMNS = {
    "request_id": "request_id",
    "key": "transactional_id",
    "ts_ns": "ts_ns",
    "packet_no": "request_packet_no",
    "conn_id": "conn_id",
    "number": "number",
    "api_key": "api_key",
    "api_version": "api_version",
    "answered_ns": "response_ns",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "committed": "committed",
    "group_id": "group_id",
}
"""Columns that are kept of requests, and their names there."""
_INIT = {"transaction_timeout_ms": "timeout_ms", "producer_id": "asked_producer_id"}
_END = {"producer_id": "answer_producer_id", "producer_epoch": "answer_producer_epoch"}
_ADD_OFFSETS = {"producer_id": "producer_id", "producer_epoch": "producer_epoch", "group_id": "group_id"}
_ADD_PARTITIONS = {
    "v3_and_below_producer_id": "producer_id",
    "v3_and_below_producer_epoch": "producer_epoch",
    "v3_and_below_topics": "partitions",
}
_MESSAGES = (
    ("InitProducerId/request", _INIT),
    ("EndTxn/response", _END),
    ("AddOffsetsToTxn/request", _ADD_OFFSETS),
    ("AddPartitionsToTxn/request", _ADD_PARTITIONS),
)
"""Fields of messages, and the columns of the event that they fill where the request itself has none."""
_MESSAGE_TYPES = {
    "timeout_ms": pa.int32(),
    "asked_producer_id": pa.int64(),
    "answer_producer_id": pa.int64(),
    "answer_producer_epoch": pa.int16(),
    "producer_id": pa.int64(),
    "producer_epoch": pa.int16(),
    "group_id": pa.string(),
    "partitions": pa.list_(pa.string()),
}


class CoordinatorRequests:
    """Keeps the requests to transaction coordinators, and the errors in their answers, until the messages are read."""

    def __init__(self) -> None:
        self._requests: list[pa.Table] = []
        self._errors: list[pa.Table] = []

    def take_errors(self, rows: pa.Table) -> None:
        """Takes a batch of `errors`."""
        about = pc.and_(
            pc.is_in(rows["api_key"], pa.array(COORDINATOR_APIS, pa.int16())), pc.not_equal(rows["error_code"], 0)
        )
        some = rows.select(["request_id", "error_name"]).filter(pc.fill_null(about, False))
        if some.num_rows:
            self._errors.append(some)

    def take_requests(self, rows: pa.Table) -> None:
        """Takes a batch of `requests`."""
        some = rows.filter(is_coordinator_request(rows))
        if some.num_rows:
            self._requests.append(pa.table({name: some[source] for name, source in _COLUMNS.items()}))

    def rows(self, read_messages: MessageReader) -> pa.Table:
        """All events: their keys and the columns of the struct."""
        if not self._requests:
            return pa.table({})
        requests = with_seq(pa.concat_tables(self._requests), ["packet_no", "number"])
        ids = flat(requests, "request_id")
        columns = {name: flat(requests, name) for name in requests.column_names}
        columns["protocol"] = _protocols(columns["api_key"], columns["api_version"])
        columns["errors"] = self._error_names(ids)
        for name, values in _fields_of_messages(ids, read_messages).items():
            columns[name] = pc.coalesce(columns[name], values) if name in columns else values
        return pa.table(columns)

    def _error_names(self, ids: pa.Array) -> pa.ListArray:
        """The distinct names of the errors in each request's answer, sorted; null without any."""
        empty = pa.table({"request_id": pa.array([], pa.string()), "error_name": pa.array([], pa.string())})
        errors = pa.concat_tables([empty, *self._errors])
        rows = pc.index_in(flat(errors, "request_id"), ids)
        pairs = pa.table({"row": rows, "error_name": errors["error_name"].cast(pa.string())}).drop_null()
        pairs = pairs.group_by(["row", "error_name"]).aggregate([])
        pairs = pairs.sort_by([("row", "ascending"), ("error_name", "ascending")])
        has_errors = np.zeros(len(ids), np.bool_)
        has_errors[pairs["row"].to_numpy()] = True
        return grouped(flat(pairs, "error_name"), flat(pairs, "row"), pa.array(has_errors))


def _protocols(api_keys: pa.Array, versions: pa.Array) -> pa.Array:
    """v1 or v2, as far as the API and version of a request tell: a producer that adds partitions or offsets itself uses
    v1; EndTxn and TxnOffsetCommit have a version of their own for v2."""
    adds = pc.is_in(api_keys, pa.array([ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN], pa.int16()))
    ends, commits = pc.equal(api_keys, END_TXN), pc.equal(api_keys, TXN_OFFSET_COMMIT)
    is_v2 = pc.or_(
        pc.and_(ends, pc.greater_equal(versions, V2_END)),
        pc.and_(commits, pc.greater_equal(versions, V2_OFFSET_COMMIT)),
    )
    shows = pc.or_(adds, pc.or_(ends, commits))
    return pc.if_else(shows, pc.if_else(is_v2, "v2", "v1"), pa.scalar(None, pa.string()))


def _fields_of_messages(ids: pa.Array, read_messages: MessageReader) -> dict[str, pa.Array]:
    """What the messages of requests (in order of ids) say beside the requests' own columns; null without."""
    out = {name: pa.nulls(len(ids), kind) for name, kind in _MESSAGE_TYPES.items()}
    for message, fields in _MESSAGES:
        parts = [part for part in _said_in(message, fields, read_messages) if part.num_rows]
        if not parts:
            continue
        said = pa.concat_tables(parts)
        rows = pc.index_in(ids, flat(said, "request_id"))
        for name in fields.values():
            out[name] = _merged(out[name], flat(said, name).take(rows), rows)
    return out


def _merged(values: pa.Array, others: pa.Array, rows: pa.Array) -> pa.Array:
    """values, replaced by others where rows is valid. A request has one message of those asked for."""
    index = np.arange(len(values))
    chosen = np.where(np.asarray(rows.is_valid()), index + len(values), index)
    return pa.concat_arrays([values, others.cast(values.type)]).take(pa.array(chosen))


def _said_in(message: str, fields: dict[str, str], read_messages: MessageReader) -> Iterator[pa.Table]:
    """request_id and the fields of a message, by the names of the event's columns."""
    for batch in read_messages(message, ["request_id", "api_version", *fields]):
        rows = pa.Table.from_batches([batch])
        if message.startswith("AddPartitionsToTxn"):
            rows = rows.filter(pc.less(rows["api_version"], LEADERS_VERSION))
        columns = {"request_id": flat(rows, "request_id")}
        for field, name in fields.items():
            values = flat(rows, field)
            columns[name] = named_partitions(values) if name == "partitions" else values
        yield pa.table(columns)
