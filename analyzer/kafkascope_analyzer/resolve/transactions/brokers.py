"""`transaction_markers` and `transaction_seen`: messages between brokers about transactions."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import CONNECTION_ID
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts
from kafkascope_analyzer.resolve.transactions.rows import seq_of
from kafkascope_analyzer.scan.transaction_apis import (
    LEADERS_VERSION,
    grouped,
    named_partitions,
    partition_texts,
    partitions_of_topics,
)

OFFSETS_TOPIC = "__consumer_offsets"
"""The topic to which TxnOffsetCommit writes: the event of that request names the group instead."""
_MARKER_KEYS = ["request_id", "producer_id"]
_WRITTEN = pa.schema(
    [
        ("request_id", pa.string()),
        ("producer_id", pa.int64()),
        ("answered_ns", pa.int64()),
        ("partitions", pa.list_(pa.string())),
    ]
)


def leaders_requests(read_messages: MessageReader) -> Iterator[pa.Table]:
    """Yields the AddPartitionsToTxn requests of leaders, which ask the coordinator about a producer that sent them a
    batch: one row for each transactional id that a request names."""
    columns = ["request_id", "conn_id", "ts_ns", "api_version", "transactions"]
    for batch in read_messages("AddPartitionsToTxn/request", columns):
        requests = pa.Table.from_batches([batch])
        requests = requests.filter(pc.greater_equal(requests["api_version"], LEADERS_VERSION))
        lists = flat(requests["transactions"])
        requested = pc.list_flatten(lists)
        columns_of_row = _of_requests(requests, lists) | {
            "key": pc.struct_field(requested, "transactional_id"),
            "producer_id": pc.struct_field(requested, "producer_id"),
            "producer_epoch": pc.struct_field(requested, "producer_epoch"),
            "protocol": pc.if_else(pc.fill_null(pc.struct_field(requested, "verify_only"), False), "v1", "v2"),
            "partitions": named_partitions(pc.struct_field(requested, "topics"), without_topic=OFFSETS_TOPIC),
        }
        rows = pa.table(columns_of_row)
        yield rows.filter(pc.is_valid(rows["key"]))


def markers(read_messages: MessageReader, facts: TransactionFacts) -> Iterator[pa.Table]:
    """Yields WriteTxnMarkers, one row for each producer id whose transactional id is known, with the partitions where
    the marker was written. Requests wait for their responses, which were written at about the same time."""
    requested, written = None, _WRITTEN.empty_table()
    requests = read_messages("WriteTxnMarkers/request", ["request_id", "conn_id", "ts_ns", "markers"])
    answers = read_messages("WriteTxnMarkers/response", ["request_id", "ts_ns", "markers"])
    for request_batch, answer_batch in zip_longest(requests, answers):
        if request_batch is not None:
            fresh = _requested(request_batch, facts)
            requested = fresh if requested is None else pa.concat_tables([requested, fresh])
        if answer_batch is not None:
            written = pa.concat_tables([written, _written(answer_batch, facts)])
        if requested is not None:
            answered, requested, written = _matched(requested, written)
            yield answered
    if requested is not None:
        for name in ("answered_ns", "partitions"):
            requested = requested.append_column(name, pa.nulls(requested.num_rows, _WRITTEN.field(name).type))
        yield requested


def _matched(requested: pa.Table, written: pa.Table) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Returns requests with their responses, requests without, responses without."""
    left = requested.select(_MARKER_KEYS).append_column("row", pa.array(np.arange(requested.num_rows)))
    right = written.select(_MARKER_KEYS).append_column("at", pa.array(np.arange(written.num_rows)))
    pairs = left.join(right, keys=_MARKER_KEYS, join_type="inner", use_threads=False)
    rows, at = pairs["row"].to_numpy(), pairs["at"].to_numpy()
    answered = requested.take(pa.array(rows))
    for name in ("answered_ns", "partitions"):
        answered = answered.append_column(name, flat(written[name]).take(pa.array(at)))
    return answered, _without(requested, rows), _without(written, at)


def _without(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Returns the rows of a table that are not given."""
    kept = np.ones(table.num_rows, np.bool_)
    kept[rows] = False
    return table.filter(pa.array(kept))


def _requested(batch: pa.RecordBatch, facts: TransactionFacts) -> pa.Table:
    """Returns one row for each producer id of WriteTxnMarkers requests."""
    requests = pa.Table.from_batches([batch])
    lists = flat(requests["markers"])
    requested = pc.list_flatten(lists)
    columns = _of_requests(requests, lists)
    columns["producer_id"] = pc.struct_field(requested, "producer_id")
    columns["producer_epoch"] = pc.struct_field(requested, "producer_epoch")
    columns["committed"] = pc.struct_field(requested, "transaction_result")
    columns["key"] = facts.transactional_ids(columns["producer_id"])
    rows = pa.table(columns)
    return rows.filter(pc.is_valid(rows["key"]))


def _written(batch: pa.RecordBatch, facts: TransactionFacts) -> pa.Table:
    """Returns the partitions where WriteTxnMarkers responses confirm the marker, by request and known producer id."""
    answers = pa.Table.from_batches([batch])
    lists = flat(answers["markers"])
    each = pc.list_flatten(lists)
    parents = pc.list_parent_indices(lists)
    columns = {
        "request_id": flat(answers["request_id"]).take(parents),
        "producer_id": pc.struct_field(each, "producer_id"),
        "answered_ns": flat(answers["ts_ns"]).take(parents),
        "partitions": _without_error(pc.struct_field(each, "topics")),
    }
    rows = pa.table(columns, schema=_WRITTEN)
    return rows.filter(facts.transactional_ids(columns["producer_id"]).is_valid())


def _without_error(topics: pa.ListArray) -> pa.ListArray:
    """Returns `topic-partition` of each partition without an error in lists of topics, if its number is in range."""
    of_topic, names, each = partitions_of_topics(topics)
    of_row = pc.list_parent_indices(topics).take(of_topic)
    texts = partition_texts(names.take(of_topic), pc.struct_field(each, "partition_index"))
    is_written = pc.and_(texts.is_valid(), pc.fill_null(pc.equal(pc.struct_field(each, "error_code"), 0), False))
    return grouped(texts.filter(is_written), of_row.filter(is_written), topics.is_valid())


def _of_requests(requests: pa.Table, lists: pa.ListArray) -> dict[str, pa.Array]:
    """Returns the columns that each element of a list takes from its request; seq is made from the request's number on
    the connection and the index in the list."""
    parents = pc.list_parent_indices(lists)
    columns = {name: flat(requests[name]).take(parents) for name in ("request_id", "conn_id", "ts_ns")}
    numbers = pc.cast(pc.utf8_slice_codeunits(columns["request_id"], CONNECTION_ID.itemsize + 1), pa.int64())
    columns["seq"] = seq_of(numbers, pa.array(np.arange(len(parents)) - _first_places(parents)))
    return columns


def _first_places(parents: pa.Array) -> NDArray[np.int64]:
    """Returns the index of the first element of each element's list."""
    index = parents.to_numpy()
    return np.asarray(np.searchsorted(index, index))
