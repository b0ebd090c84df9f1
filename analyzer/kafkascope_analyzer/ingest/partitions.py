"""Rows of `partitions`: every topic-partition that a decoded message names, with what stands beside it."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_analyzer.ingest.mentions import PartitionMention, instances_above, partition_mentions
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import strings
from kafkascope_parsers.records import summarize_record_sets
from kafkascope_parsers.schema import Node

_INTS = (
    "offset",
    "leader_epoch",
    "leader_id",
    "current_leader_id",
    "current_leader_epoch",
    "preferred_read_replica",
    "high_watermark",
    "last_stable_offset",
    "log_start_offset",
    "error_code",
)
_MINUS_ONE_IS_NONE = frozenset(_INTS) - {"offset", "error_code"}
"""Kafka writes -1 for a leader, epoch or offset that is not known; an offset of -1 or -2 is a question (latest,
earliest).
"""

SPILL_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        *((name, PARTITIONS.column(name).type) for name in _INTS),
        ("record_bytes", pa.int64()),
        ("n_batches", pa.int32()),
        ("n_records", pa.int64()),
    ]
)
"""Columns of `partition_rows`; `row` is the index of the decoded message's frame."""


def partition_rows(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    """The partitions that decoded messages name. frames[i] is the frame of decoded row i. Columns: SPILL_SCHEMA."""
    tables = [
        _of_mention(columns, mention, frames)
        for mention in partition_mentions(columns.message)
        if columns.size(mention.partition)
    ]
    return pa.concat_tables(tables) if tables else SPILL_SCHEMA.empty_table()


def _of_mention(columns: Columns, mention: PartitionMention, frames: NDArray[np.int64]) -> pa.Table:
    leaf = mention.partition
    present = ~columns.is_null(leaf)
    n = int(present.sum())
    keep = np.flatnonzero(present)
    out = {
        "row": pa.array(frames[columns.row(leaf)[keep]]),
        "topic": outer_text(columns, leaf, mention.topic, keep),
        "topic_id": outer_text(columns, leaf, mention.topic_id, keep),
        "partition": pa.array(columns.values(leaf)[keep].astype(np.int32)),
    }
    for name in _INTS:
        out[name] = _int_column(columns, name, mention.fields.get(name, ()), keep)
    out |= _record_columns(columns, mention.records, keep, n)
    return pa.table([out[f.name] for f in SPILL_SCHEMA], SPILL_SCHEMA)


def outer_text(columns: Columns, leaf: Node, node: Node | None, keep: NDArray[np.int64]) -> pa.Array:
    """A string or uuid that stands at or above leaf's level, for the kept instances of leaf's level; nulls where
    there is none.
    """
    if node is None or not columns.has(node):
        return pa.nulls(len(keep), pa.string())
    texts = strings(columns, node)
    index = instances_above(columns, leaf, node.level)[keep]
    return texts.take(pa.array(index))


def _int_column(columns: Columns, name: str, nodes: tuple[Node, ...], keep: NDArray[np.int64]) -> pa.Array:
    kind = PARTITIONS.column(name).type
    nodes = tuple(node for node in nodes if columns.has(node))
    if not nodes:
        return pa.nulls(len(keep), kind)
    values, nulls = np.zeros(len(keep), np.int64), np.ones(len(keep), np.bool_)
    for node in nodes:
        fresh = nulls & ~columns.is_null(node)[keep]
        values = np.where(fresh, columns.values(node)[keep], values)
        nulls &= ~fresh
    if name in _MINUS_ONE_IS_NONE:
        nulls |= values == -1
    return pa.array(values.astype(kind.to_pandas_dtype()), kind, mask=nulls)


def _record_columns(columns: Columns, node: Node | None, keep: NDArray[np.int64], n: int) -> dict[str, pa.Array]:
    if node is None or not columns.has(node):
        return {
            "record_bytes": pa.nulls(n, pa.int64()),
            "n_batches": pa.nulls(n, pa.int32()),
            "n_records": pa.nulls(n, pa.int64()),
        }
    lengths = np.maximum(columns.lengths(node)[keep].astype(np.int64), 0)
    n_batches, n_records, n_bytes = summarize_record_sets(columns.buf, columns.offsets(node)[keep], lengths)
    return {"record_bytes": pa.array(n_bytes), "n_batches": pa.array(n_batches), "n_records": pa.array(n_records)}
