"""Consumers that read only committed records and are blocked: Fetch responses whose last stable offset does not move
while the high watermark does.

The last stable offset is the first offset of the oldest transaction that is open on the partition (KIP-98,
org.apache.kafka.storage.internals.log.UnifiedLog). So the transaction that blocks the consumer is the one whose first
batch on the partition has that offset: the response to a Produce request of a transactional producer names it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.tables.event_kinds.transactions import SHORTEST_UNSEEN_NS, TransactionBlockedByLso
from kafkascope_analyzer.scan.partitions import spill_name
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.transaction_apis import partition_texts
from kafkascope_analyzer.scan.transaction_picks import BLOCKED, READERS, add_up
from kafkascope_parsers.api_keys import PRODUCE

_NUMBER_BITS = 40
"""Requests of a connection are numbered below 2**40."""
_WHERE = ["partition", "last_stable_offset"]
_BATCH = pa.schema([("partition", pa.string()), ("last_stable_offset", pa.int64()), ("key", pa.int64())])
_REQUEST = pa.schema([("key", pa.int64()), ("transactional_id", pa.string()), ("ts_ns", pa.int64())])
BLOCKED_SCHEMA = pa.schema(
    [
        ("transactional_id", pa.string()),
        ("ts_ns", pa.int64()),
        ("conn_id", pa.string()),
        ("number", pa.int64()),
        *(field for field in TransactionBlockedByLso.KIND.struct if field.name != "request_id"),
    ]
)
"""transactional_id: the transaction's, empty where no request shows it; ts_ns: its Produce request with the first batch
on the partition, or the first response that shows the last stable offset; conn_id, number: the last Fetch that shows
it; partition: `topic-partition`."""


def blocked_consumers(spills: Sequence[Path], topics: TopicNames) -> pa.Table:
    """Returns one row (BLOCKED_SCHEMA) for each connection of a consumer, partition, last stable offset and
    transaction. topics: names by topic id."""
    rows = pa.concat_tables(
        [BLOCKED_SCHEMA.empty_table().drop_columns(["transactional_id", "ts_ns"])]
        + [_of_bucket(spill, topics) for spill in spills]
    )
    if not rows.num_rows:
        return BLOCKED_SCHEMA.empty_table()
    rows = _growing(rows)
    batches = _first_batches(spills, topics, rows)
    matched = rows.join(batches, keys=_WHERE, join_type="inner", use_threads=False)
    unseen = _long(rows.join(batches, keys=_WHERE, join_type="left anti", use_threads=False))
    return pa.concat_tables([part.select(BLOCKED_SCHEMA.names).cast(BLOCKED_SCHEMA) for part in (matched, unseen)])


def _of_bucket(spill: Path, topics: TopicNames) -> pa.Table:
    """Returns the rows of one bucket: columns of BLOCKED_SCHEMA without transactional_id and ts_ns."""
    schema = pa.schema([field for field in BLOCKED_SCHEMA if field.name not in ("transactional_id", "ts_ns")])
    spilled = list(read_spill(spill, BLOCKED))
    readers = [rows["conn"] for rows in read_spill(spill, READERS)]
    if not spilled or not readers:
        return schema.empty_table()
    rows = pa.concat_tables(spilled)
    committed = pa.concat_tables([pa.table({"conn": conns}) for conns in readers])["conn"]
    rows = add_up(rows.filter(pc.is_in(rows["conn"], committed.combine_chunks())))
    conn_ids = pa.concat_tables(read_spill(spill, "connections", ["conn_id"]))["conn_id"].combine_chunks()
    columns = {name: rows[name] for name in schema.names if name in rows.column_names}
    columns["conn_id"] = conn_ids.take(rows["conn"].combine_chunks())
    columns["partition"] = partition_texts(_topic_names(rows, topics), rows["partition"])
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _topic_names(rows: pa.Table, topics: TopicNames) -> pa.ChunkedArray:
    """Returns the topic's name, by its id where the message has only that; the id where the capture does not show the
    name."""
    names, ids = (rows[name].cast(pa.string()) for name in ("topic", "topic_id"))
    return pc.coalesce(topics.complete(names, ids), ids)


def _of_offset(rows: pa.Table, columns: list[tuple[str, str]]) -> pa.Table:
    """Adds columns that are aggregates over all rows of a partition and last stable offset."""
    added = rows.group_by(_WHERE).aggregate(columns)
    return rows.join(added, keys=_WHERE, use_threads=False)


def _growing(rows: pa.Table) -> pa.Table:
    """Returns the rows of offsets behind which the partition grew, in any consumer's responses: only then a consumer
    waits."""
    every = _of_offset(rows, [("lowest_high_watermark", "min"), ("highest_high_watermark", "max")])
    return every.filter(
        pc.greater(every["highest_high_watermark_max"], every["lowest_high_watermark_min"])
    ).drop_columns(["highest_high_watermark_max", "lowest_high_watermark_min"])


def _long(rows: pa.Table) -> pa.Table:
    """Returns the rows of transactions that the capture does not show, if they lasted for SHORTEST_UNSEEN_NS."""
    every = _of_offset(rows, [("from_ns", "min"), ("until_ns", "max")])
    stayed = pc.subtract(every["until_ns_max"], every["from_ns_min"])
    long = every.filter(pc.greater_equal(stayed, SHORTEST_UNSEEN_NS))
    nameless = pa.repeat("", long.num_rows)
    return long.append_column("transactional_id", nameless).append_column("ts_ns", long["from_ns_min"])


def _first_batches(spills: Sequence[Path], topics: TopicNames, rows: pa.Table) -> pa.Table:
    """Returns the Produce request of a transactional producer that wrote the batch at each of the last stable offsets:
    partition, last_stable_offset, transactional_id, ts_ns (of the request)."""
    offsets = rows["last_stable_offset"].combine_chunks().unique()
    found = []
    for spill in spills:
        batches = pa.concat_tables([_BATCH.empty_table(), *_written_at(spill, topics, offsets)])
        batches = batches.join(rows.select(_WHERE), keys=_WHERE, join_type="left semi", use_threads=False)
        if batches.num_rows:
            requests = pa.concat_tables([_REQUEST.empty_table(), *_producing(spill, batches["key"].combine_chunks())])
            found.append(batches.join(requests, keys="key", join_type="inner", use_threads=False))
    names = [*_WHERE, "transactional_id", "ts_ns"]
    every = pa.concat_tables([_BATCH.append(_REQUEST.field(1)).append(_REQUEST.field(2)).empty_table(), *found])
    first = every.group_by([*_WHERE, "transactional_id"]).aggregate([("ts_ns", "min")])
    return first.rename_columns({"ts_ns_min": "ts_ns"}).select(names)


def _written_at(spill: Path, topics: TopicNames, offsets: pa.Array) -> Iterator[pa.Table]:
    """Yields Produce responses without error that name one of the offsets (_BATCH). key: connection and number."""
    names = ["conn", "number", "topic", "topic_id", "partition", "partition_offset", "error_code"]
    for rows in read_spill(spill, spill_name(PRODUCE, "response"), names):
        accepted = pc.and_(pc.is_in(rows["partition_offset"], offsets), pc.equal(rows["error_code"], 0))
        some = rows.filter(pc.fill_null(accepted, False))
        if some.num_rows:
            partitions = partition_texts(_topic_names(some, topics), some["partition"])
            yield pa.table([partitions, some["partition_offset"], _keys(some)], schema=_BATCH)


def _producing(spill: Path, keys: pa.Array) -> Iterator[pa.Table]:
    """Yields the requests of transactional producers among those with the keys (_REQUEST)."""
    for rows in read_spill(spill, "requests", ["conn", "number", "ts_ns", "api_key", "transactional_id"]):
        some = rows.filter(pc.fill_null(pc.and_(pc.is_valid(rows["transactional_id"]), _is_produce(rows)), False))
        own = _keys(some)
        if some.num_rows:
            yield pa.table([own, some["transactional_id"], some["ts_ns"]], schema=_REQUEST).filter(pc.is_in(own, keys))


def _is_produce(rows: pa.Table) -> pa.ChunkedArray:
    return pc.equal(rows["api_key"], PRODUCE)


def _keys(rows: pa.Table) -> pa.Array:
    """Returns connection and number of each request as one number."""
    return pa.array(rows["conn"].to_numpy() << _NUMBER_BITS | rows["number"].to_numpy())
