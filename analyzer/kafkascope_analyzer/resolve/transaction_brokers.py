"""`transaction_markers` and `transaction_seen`: what brokers tell each other of transactions."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.identity import CONNECTION_ID
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.resolve.transaction_apis import (
    LEADERS_VERSION,
    grouped,
    named_partitions,
    partition_texts,
    partitions_of_topics,
)
from kafkascope_analyzer.resolve.transaction_facts import TransactionFacts
from kafkascope_analyzer.resolve.transaction_rows import flat, with_seq

OFFSETS_TOPIC = "__consumer_offsets"
"""The topic that TxnOffsetCommit writes to: the event of that request names the group instead."""
_MARKER_KEYS = ["request_id", "producer_id"]


def leaders_requests(read_messages: MessageReader) -> pa.Table:
    """AddPartitionsToTxn of leaders, which ask the coordinator about a producer whose batch they got: one row for each
    transactional id that a request names."""
    columns = ["request_id", "conn_id", "ts_ns", "api_version", "transactions"]
    parts = [_asked_about(batch) for batch in read_messages("AddPartitionsToTxn/request", columns)]
    rows = pa.concat_tables([part for part in parts if part.num_rows]) if any(p.num_rows for p in parts) else None
    return pa.table({}) if rows is None else with_seq(rows, ["number", "place"])


def _asked_about(batch: pa.RecordBatch) -> pa.Table:
    requests = pa.Table.from_batches([batch])
    requests = requests.filter(pc.greater_equal(requests["api_version"], LEADERS_VERSION))
    lists = flat(requests, "transactions")
    asked = pc.list_flatten(lists)
    columns = _of_requests(requests, lists)
    columns["key"] = pc.struct_field(asked, "transactional_id")
    columns["producer_id"] = pc.struct_field(asked, "producer_id")
    columns["producer_epoch"] = pc.struct_field(asked, "producer_epoch")
    columns["protocol"] = pc.if_else(pc.fill_null(pc.struct_field(asked, "verify_only"), False), "v1", "v2")
    columns["partitions"] = named_partitions(pc.struct_field(asked, "topics"), without_topic=OFFSETS_TOPIC)
    rows = pa.table(columns)
    return rows.filter(pc.is_valid(rows["key"]))


def markers(read_messages: MessageReader, facts: TransactionFacts) -> pa.Table:
    """WriteTxnMarkers, one row for each producer id whose transactional id is known, with the partitions where the
    marker was written."""
    names = ["request_id", "conn_id", "ts_ns", "markers"]
    parts = [_asked_to_write(batch, facts) for batch in read_messages("WriteTxnMarkers/request", names)]
    rows = [part for part in parts if part.num_rows]
    if not rows:
        return pa.table({})
    asked = with_seq(pa.concat_tables(rows), ["number", "place"])
    written = pa.concat_tables([_NOTHING_WRITTEN, *_written(read_messages)])
    written = written.append_column("at", pa.array(np.arange(written.num_rows)))
    asked = asked.append_column("row", pa.array(np.arange(asked.num_rows)))
    places = asked.select([*_MARKER_KEYS, "row"]).join(
        written.select([*_MARKER_KEYS, "at"]), keys=_MARKER_KEYS, join_type="left outer", use_threads=False
    )
    at = flat(places.sort_by("row"), "at")
    for name in ("answered_ns", "partitions"):
        asked = asked.append_column(name, flat(written, name).take(at))
    return asked


def _asked_to_write(batch: pa.RecordBatch, facts: TransactionFacts) -> pa.Table:
    requests = pa.Table.from_batches([batch])
    lists = flat(requests, "markers")
    asked = pc.list_flatten(lists)
    columns = _of_requests(requests, lists)
    columns["producer_id"] = pc.struct_field(asked, "producer_id")
    columns["producer_epoch"] = pc.struct_field(asked, "producer_epoch")
    columns["committed"] = pc.struct_field(asked, "transaction_result")
    columns["key"] = facts.transactional_ids(columns["producer_id"])
    rows = pa.table(columns)
    return rows.filter(pc.is_valid(rows["key"]))


_NOTHING_WRITTEN = pa.schema(
    [
        ("request_id", pa.string()),
        ("producer_id", pa.int64()),
        ("answered_ns", pa.int64()),
        ("partitions", pa.list_(pa.string())),
    ]
).empty_table()


def _written(read_messages: MessageReader) -> Iterator[pa.Table]:
    """Of WriteTxnMarkers responses, per request and producer id the partitions where the marker was written."""
    for batch in read_messages("WriteTxnMarkers/response", ["request_id", "ts_ns", "markers"]):
        answers = pa.Table.from_batches([batch])
        lists = flat(answers, "markers")
        each = pc.list_flatten(lists)
        parents = pc.list_parent_indices(lists)
        columns = {
            "request_id": flat(answers, "request_id").take(parents),
            "producer_id": pc.struct_field(each, "producer_id"),
            "answered_ns": flat(answers, "ts_ns").take(parents),
            "partitions": _without_error(pc.struct_field(each, "topics")),
        }
        yield pa.table(columns, schema=_NOTHING_WRITTEN.schema)


def _without_error(topics: pa.ListArray) -> pa.ListArray:
    """`topic-partition` of each partition without an error in lists of topics."""
    of_topic, names, each = partitions_of_topics(topics)
    of_row = pc.list_parent_indices(topics).take(of_topic)
    texts = partition_texts(names.take(of_topic), pc.struct_field(each, "partition_index"))
    written = pc.fill_null(pc.equal(pc.struct_field(each, "error_code"), 0), False)
    return grouped(texts.filter(written), of_row.filter(written), topics.is_valid())


def _of_requests(requests: pa.Table, lists: pa.ListArray) -> dict[str, pa.Array]:
    """What each element of a list takes from its request, and its place in the list. number: of the request on its
    connection."""
    parents = pc.list_parent_indices(lists)
    columns = {name: flat(requests, name).take(parents) for name in ("request_id", "conn_id", "ts_ns")}
    columns["number"] = pc.cast(pc.utf8_slice_codeunits(columns["request_id"], CONNECTION_ID.itemsize + 1), pa.int64())
    columns["place"] = pa.array(np.arange(len(parents)))
    return columns
