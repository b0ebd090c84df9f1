"""`transaction_request`: requests of producers to the coordinator of their transactional id, with the responses.

Most events need only the request itself. InitProducerId, EndTxn of v2 and AddPartitionsToTxn wait for their messages,
which are read at the end.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.resolve.transactions.rows import seq_of
from kafkascope_analyzer.scan.transaction_apis import (
    COORDINATOR_APIS,
    LEADERS_VERSION,
    V2_END,
    V2_OFFSET_COMMIT,
    grouped,
    is_coordinator_request,
    named_partitions,
)
from kafkascope_parsers.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    TXN_OFFSET_COMMIT,
)

_COLUMNS = {
    "request_id": "request_id",
    "key": "transactional_id",
    "client_ip": "client_ip",
    "ts_ns": "ts_ns",
    "packet_no": "request_packet_no",
    "conn_id": "conn_id",
    "api_key": "api_key",
    "answered_ns": "response_ns",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "committed": "committed",
    "group_id": "group_id",
}
"""Columns of the event, and the columns of `requests` from which they are taken."""
_CODED = ("key", "client_ip", "conn_id", "group_id")
"""Texts that many requests share, which are kept dictionary-encoded."""
_MESSAGES = {
    INIT_PRODUCER_ID: (
        "InitProducerId/request",
        {"transaction_timeout_ms": "timeout_ms", "producer_id": "asked_producer_id"},
    ),
    END_TXN: (
        "EndTxn/response",
        {"producer_id": "answer_producer_id", "producer_epoch": "answer_producer_epoch"},
    ),
    ADD_PARTITIONS_TO_TXN: (
        "AddPartitionsToTxn/request",
        {
            "v3_and_below_producer_id": "producer_id",
            "v3_and_below_producer_epoch": "producer_epoch",
            "v3_and_below_topics": "partitions",
        },
    ),
}
"""By API, the message whose fields the event needs, and the columns that they fill."""
_MESSAGE_TYPES = {
    "timeout_ms": pa.int32(),
    "asked_producer_id": pa.int64(),
    "answer_producer_id": pa.int64(),
    "answer_producer_epoch": pa.int16(),
    "partitions": pa.list_(pa.string()),
}


class CoordinatorRequests:
    """Makes the events of requests to transaction coordinators. Keeps the errors in their responses, and the requests
    whose messages are needed."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[pa.Table]] = {}
        self._errors: list[pa.Table] = []
        self._names_of_errors: pa.Table | None = None

    def take_errors(self, rows: pa.Table) -> None:
        """Takes a batch of `errors`."""
        about = pc.and_(
            pc.is_in(rows["api_key"], pa.array(COORDINATOR_APIS, pa.int16())), pc.not_equal(rows["error_code"], 0)
        )
        some = rows.select(["request_id", "error_name"]).filter(pc.fill_null(about, False))
        if some.num_rows:
            self._errors.append(some.group_by(["request_id", "error_name"], use_threads=False).aggregate([]))

    def take_requests(self, rows: pa.Table) -> pa.Table:
        """Takes a batch of `requests`. Returns the events that need no message."""
        some = rows.filter(is_coordinator_request(rows))
        if not some.num_rows:
            return pa.table({})
        events = pa.table({name: flat(some[source]) for name, source in _COLUMNS.items()})
        events = events.append_column("seq", seq_of(flat(some["number"])))
        events = events.append_column("protocol", _protocols(flat(some["api_key"]), flat(some["api_version"])))
        events = events.append_column("errors", self._error_lists(flat(some["request_id"])))
        needs_message = pc.or_(
            pc.is_in(some["api_key"], pa.array([INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN], pa.int16())),
            pc.and_(pc.equal(some["api_key"], END_TXN), pc.fill_null(pc.equal(events["protocol"], "v2"), False)),
        )
        self._wait(events.filter(needs_message))
        return _filled(events.filter(pc.invert(needs_message)))

    def _wait(self, events: pa.Table) -> None:
        for name in _CODED:
            events = events.set_column(events.column_names.index(name), name, flat(events[name]).dictionary_encode())
        for api_key in _MESSAGES:
            some = events.filter(pc.equal(events["api_key"], api_key))
            if some.num_rows:
                self._waiting.setdefault(api_key, []).append(some)

    def finish(self, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the events that need a message, table by table."""
        for api_key in sorted(self._waiting):
            yield from _with_messages(self._waiting.pop(api_key), api_key, read_messages)

    def _error_lists(self, ids: pa.Array) -> pa.ListArray:
        """Returns the distinct names of the errors in each request's response, sorted; null without any."""
        if self._names_of_errors is None:  # all errors come before the first request
            empty = pa.table({"request_id": pa.array([], pa.string()), "error_name": pa.array([], pa.string())})
            errors = pa.concat_tables([empty, *(part.cast(empty.schema) for part in self._errors)])
            self._names_of_errors, self._errors = errors.drop_null().combine_chunks(), []
        rows = pc.index_in(flat(self._names_of_errors["request_id"]), ids)
        pairs = pa.table({"row": rows, "error_name": self._names_of_errors["error_name"]}).drop_null()
        pairs = pairs.group_by(["row", "error_name"], use_threads=False).aggregate([])
        pairs = pairs.sort_by([("row", "ascending"), ("error_name", "ascending")])
        has_errors = np.zeros(len(ids), np.bool_)
        has_errors[pairs["row"].to_numpy()] = True
        return grouped(flat(pairs["error_name"]), flat(pairs["row"]), pa.array(has_errors))


def _protocols(api_keys: pa.Array, versions: pa.Array) -> pa.Array:
    """Returns v1 or v2, as far as the API and version of a request show it: a producer that adds partitions or offsets
    itself uses v1; EndTxn and TxnOffsetCommit have a version of their own for v2."""
    adds = pc.is_in(api_keys, pa.array([ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN], pa.int16()))
    ends, commits = pc.equal(api_keys, END_TXN), pc.equal(api_keys, TXN_OFFSET_COMMIT)
    is_v2 = pc.or_(
        pc.and_(ends, pc.greater_equal(versions, V2_END)),
        pc.and_(commits, pc.greater_equal(versions, V2_OFFSET_COMMIT)),
    )
    shows = pc.or_(adds, pc.or_(ends, commits))
    return pc.if_else(shows, pc.if_else(is_v2, "v2", "v1"), pa.scalar(None, pa.string()))


def _with_messages(parts: list[pa.Table], api_key: int, read_messages: MessageReader) -> Iterator[pa.Table]:
    """Yields requests of one API with the fields of their messages: those with a message in the order of the messages,
    then the others."""
    requests = pa.concat_tables(parts).unify_dictionaries()
    ids = flat(requests["request_id"])
    is_waiting = np.ones(len(ids), np.bool_)
    message, fields = _MESSAGES[api_key]
    for batch in read_messages(message, ["request_id", "api_version", *fields]):
        found = _fields(batch, api_key, fields)
        rows = pc.index_in(flat(found["request_id"]), ids)
        known = rows.is_valid()
        rows = rows.filter(known)
        if len(rows):
            is_waiting[rows.to_numpy()] = False
            events, found = requests.take(rows), found.filter(known)
            for name in fields.values():
                yet = name in events.column_names
                values = pc.coalesce(flat(events[name]), flat(found[name])) if yet else flat(found[name])
                events = events.drop_columns([name] if yet else []).append_column(name, values)
            yield _filled(events)
    if is_waiting.any():
        yield _filled(requests.filter(pa.array(is_waiting)))


def _fields(batch: pa.RecordBatch, api_key: int, fields: dict[str, str]) -> pa.Table:
    """Returns request_id and the fields of a batch of messages, by the names of the event's columns."""
    rows = pa.Table.from_batches([batch])
    if api_key == ADD_PARTITIONS_TO_TXN:
        rows = rows.filter(pc.less(rows["api_version"], LEADERS_VERSION))
    columns = {"request_id": flat(rows["request_id"])}
    for field, name in fields.items():
        values = flat(rows[field])
        columns[name] = named_partitions(values) if name == "partitions" else values
    return pa.table(columns)


def _filled(events: pa.Table) -> pa.Table:
    """Adds the columns of other APIs, all null, and decodes dictionary-encoded texts."""
    for name, kind in _MESSAGE_TYPES.items():
        if name not in events.column_names:
            events = events.append_column(name, pa.nulls(events.num_rows, kind))
    for name in _CODED:
        events = events.set_column(events.column_names.index(name), name, events[name].cast(pa.string()))
    return events
