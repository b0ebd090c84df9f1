"""Picks, during the scan of a bucket, rows about transactions that other buckets need.

They are: transactional ids and producer ids of requests, and when transactions began and ended (bounds); markers, which
have only the producer id; consumers whose last stable offset stays behind the high watermark. A transaction's
connections are in several buckets: the coordinator's, those of the leaders, and those of consumers.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.transaction_apis import BOUND_APIS, LEADERS_VERSION, is_coordinator_request
from kafkascope_parsers.api_keys import FETCH
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import to_arrow

COORDINATOR_REQUESTS = "facts.transaction_requests"
LEADERS_REQUESTS = "facts.transaction_producers"
MARKERS = "facts.transaction_markers"
READERS = "facts.read_committed_connections"
BLOCKED = "facts.blocked_by_lso"
READ_COMMITTED = 1
PLACE = ["conn", "topic", "topic_id", "partition", "last_stable_offset"]
"""Columns that are equal in all responses about one consumer, partition and last stable offset."""
_ANSWERS = [*PLACE, "number", "ts_ns", "high_watermark"]


def pick_coordinator_requests(settled: pa.Table) -> pa.Table | None:
    """Returns the completed requests to a transaction coordinator: conn, transactional_id, producer_id (null where it
    is not known), ts_ns, is_bound."""
    named = settled["transactional_id"]
    if named.null_count == len(named):
        return None
    rows = settled.filter(is_coordinator_request(settled))
    return pa.table(
        {
            "conn": rows["conn"],
            "transactional_id": rows["transactional_id"],
            "producer_id": pc.coalesce(rows["producer_id"], rows["answer_producer_id"]),
            "ts_ns": rows["ts_ns"],
            "is_bound": pc.is_in(rows["api_key"], pa.array(BOUND_APIS, pa.int16())),
        }
    )


def pick_read_committed(settled: pa.Table) -> pa.Table | None:
    """Returns conn of the connections with Fetch requests for committed records only."""
    levels = settled["isolation_level"]
    if levels.null_count == len(levels):
        return None
    committed = pc.and_(pc.equal(levels, READ_COMMITTED), pc.equal(settled["api_key"], FETCH))
    conns = settled["conn"].filter(pc.fill_null(committed, False))
    return pa.table({"conn": conns.unique()}) if len(conns) else None


def pick_blocked(partitions: pa.Table, api_key: int, direction: str) -> pa.Table | None:
    """Returns the partitions of Fetch responses whose last stable offset is behind the high watermark, one row for each
    connection, partition and last stable offset: PLACE, from_ns, until_ns, number (of the last Fetch),
    lowest_high_watermark, highest_high_watermark."""
    if (api_key, direction) != (FETCH, "response"):
        return None
    stable, high = partitions["last_stable_offset"], partitions["high_watermark"]
    if stable.null_count == len(stable):
        return None
    behind = pc.fill_null(pc.and_(pc.greater_equal(stable, 0), pc.greater(high, stable)), False)
    if not pc.any(behind).as_py():
        return None
    answers = partitions.select(_ANSWERS).filter(behind)
    for name in ("topic", "topic_id"):
        answers = answers.set_column(answers.column_names.index(name), name, answers[name].cast(pa.string()))
    high = answers["high_watermark"]
    return add_up(
        answers.drop_columns(["high_watermark", "ts_ns"])
        .append_column("from_ns", answers["ts_ns"])
        .append_column("until_ns", answers["ts_ns"])
        .append_column("lowest_high_watermark", high)
        .append_column("highest_high_watermark", high)
    )


def add_up(rows: pa.Table) -> pa.Table:
    """Aggregates rows of pick_blocked: one row for each PLACE."""
    ordered = rows.sort_by([(name, "ascending") for name in ("until_ns", "number")])
    added = ordered.group_by(PLACE, use_threads=False).aggregate(
        [
            ("from_ns", "min"),
            ("until_ns", "max"),
            ("number", "last"),
            ("lowest_high_watermark", "min"),
            ("highest_high_watermark", "max"),
        ]
    )
    names = [name.removesuffix("_min").removesuffix("_max").removesuffix("_last") for name in added.column_names]
    return added.rename_columns(names)


def pick_leaders_requests(columns: Columns, frames: NDArray[np.void]) -> pa.Table | None:
    """Returns the producers of AddPartitionsToTxn requests of all versions: conn, transactional_id and producer_id."""
    messages, conns = to_arrow(columns), pa.array(_connections(frames))
    of_leaders = pa.array(columns.version_used >= LEADERS_VERSION)
    transactions = messages["transactions"].combine_chunks().filter(of_leaders)
    requested, of_request = transactions.flatten(), conns.filter(of_leaders).take(pc.list_parent_indices(transactions))
    own = messages.filter(pc.invert(of_leaders))
    ids = [requested.field("transactional_id"), *own["v3_and_below_transactional_id"].chunks]
    producers = [requested.field("producer_id"), *own["v3_and_below_producer_id"].chunks]
    conns = pa.chunked_array([of_request, conns.filter(pc.invert(of_leaders))])
    names = ["conn", "transactional_id", "producer_id"]
    return pa.table([conns, pa.chunked_array(ids), pa.chunked_array(producers)], names)


def pick_markers(columns: Columns, frames: NDArray[np.void]) -> pa.Table | None:
    """Returns the markers of WriteTxnMarkers requests: conn, producer_id and ts_ns of each."""
    markers = to_arrow(columns)["markers"].combine_chunks()
    times = pa.array(np.ascontiguousarray(frames["ts_ns"]))
    of_marker = pc.list_parent_indices(markers)
    return pa.table(
        {
            "conn": pa.array(_connections(frames)).take(of_marker),
            "producer_id": pc.struct_field(pc.list_flatten(markers), "producer_id"),
            "ts_ns": times.take(of_marker),
        }
    )


def _connections(frames: NDArray[np.void]) -> NDArray[np.int64]:
    """Returns the number of the connection of each frame."""
    return np.asarray(frames["direction"] >> 1, np.int64)
