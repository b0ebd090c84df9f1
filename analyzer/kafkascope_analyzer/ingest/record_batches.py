"""Rows of `record_batches`: the batches in the records fields of Produce, Fetch and ShareFetch, from their headers.

FetchSnapshot is not among them: its records are any slice of a snapshot, and need not begin with a batch.
"""

import numpy as np
import pyarrow as pa
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.records import BATCH, CODECS, CONTROL_TYPES, TIMESTAMP_TYPES, read_batches
from kafkascope_parsers.records.layout import (
    CODEC_BITS,
    DELETE_HORIZON_BIT,
    LOG_APPEND_BIT,
    TRANSACTIONAL_BIT,
)
from numpy.typing import NDArray

from kafkascope_analyzer.ingest.mentions import PartitionMention, partition_mentions
from kafkascope_analyzer.ingest.partitions import outer_text

_APIS = frozenset({0, 1, 78})
_SPILLED = tuple(name for name in BATCH.names or () if name not in ("record_set", "position", "crc"))
_NO_TIME = -1

SPILL_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.from_numpy_dtype(BATCH[name])) for name in _SPILLED),
    ]
)
"""Columns of `record_batch_rows`; `row` is the index of the decoded message's frame, numbers are those of BATCH."""


def record_batch_rows(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    """The batches that decoded messages carry. frames[i] is the frame of decoded row i. Columns: SPILL_SCHEMA."""
    if columns.message.api_key not in _APIS:
        return SPILL_SCHEMA.empty_table()
    tables = [
        _of_mention(columns, mention, frames)
        for mention in partition_mentions(columns.message)
        if mention.records is not None and columns.has(mention.records)
    ]
    return pa.concat_tables([SPILL_SCHEMA.empty_table(), *tables])


def _of_mention(columns: Columns, mention: PartitionMention, frames: NDArray[np.int64]) -> pa.Table:
    leaf, records = mention.partition, mention.records
    if records is None:
        raise ValueError(f"{leaf.path}: no records beside it")
    with_records = np.flatnonzero(columns.lengths(records) > 0)
    batches = read_batches(columns.buf, columns.offsets(records)[with_records], columns.lengths(records)[with_records])
    of_leaf = with_records[batches["record_set"]]
    out = {
        "row": pa.array(frames[columns.row(leaf)[of_leaf]]),
        "topic": outer_text(columns, leaf, mention.topic, of_leaf),
        "topic_id": outer_text(columns, leaf, mention.topic_id, of_leaf),
        "partition": pa.array(columns.values(leaf)[of_leaf].astype(np.int32)),
    }
    out |= {name: pa.array(np.ascontiguousarray(batches[name])) for name in _SPILLED}
    return pa.table([out[f.name] for f in SPILL_SCHEMA], SPILL_SCHEMA)


def batch_columns(rows: pa.Table) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The columns of `record_batches` that spilled rows tell of themselves."""
    attributes = rows["attributes"].to_numpy()
    kind = rows["control_type"].to_numpy()
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        name: _where(rows[name], rows[name].to_numpy() != -1)
        for name in ("producer_id", "producer_epoch", "base_sequence", "leader_epoch", "n_records")
    }
    has_first = (rows["base_timestamp"].to_numpy() != _NO_TIME) & (attributes & DELETE_HORIZON_BIT == 0)
    columns["first_timestamp_ms"] = _where(rows["base_timestamp"], has_first)
    columns["max_timestamp_ms"] = _where(rows["max_timestamp"], rows["max_timestamp"].to_numpy() != _NO_TIME)
    log_append = (attributes & LOG_APPEND_BIT != 0).astype(np.int8)
    columns["timestamp_type"] = _named(TIMESTAMP_TYPES, log_append, rows["magic"].to_numpy() > 0)
    codec = attributes & CODEC_BITS
    columns["codec"] = _named(CODECS, codec, codec < len(CODECS))
    columns["control"] = _named((*CONTROL_TYPES, "other"), np.where(kind < 0, len(CONTROL_TYPES), kind), kind != -1)
    columns["transactional"] = pa.array(attributes & TRANSACTIONAL_BIT != 0)
    columns["crc_ok"] = pa.array(rows["crc_valid"].to_numpy() != 0)
    columns["bytes"] = rows["size"]
    return columns


def _where(values: pa.ChunkedArray, valid: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values.to_numpy(), mask=~valid)


def _named(names: tuple[str, ...], index: NDArray[np.integer], valid: NDArray[np.bool_]) -> pa.Array:
    return pa.array(names).take(pa.array(index.astype(np.int8), mask=~valid))
