"""Reads what producers and consumers of a bucket were answered, from its spill, one block of the capture at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.scan.block_ends import ACCEPTED, BLOCK_ENDS, FETCHED, SENT, SERVED
from kafkascope_analyzer.scan.spill import GATHERED_ROWS, joined_batches, read_spill, spilled_batches

_PLACE = ["conn", "number", "topic", "topic_id", "partition"]
_COLUMNS = {
    SENT: [*_PLACE, "ts_ns", "n_records", "record_bytes", "first_timestamp_ms", "max_timestamp_ms"],
    ACCEPTED: [*_PLACE, "ts_ns", "partition_offset", "error_code"],
    FETCHED: [
        *_PLACE,
        *("ts_ns", "first_offset", "last_offset", "n_records", "record_bytes", "high_watermark"),
        *("last_stable_offset", "from_replica"),
    ],
}


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows of a spilled table with the names of their topics."""

    topics: pa.DictionaryArray
    rows: pa.Table


Block = dict[str, list[NamedRows]]
"""The rows of each of SERVED."""


def blocks(spill: Path, topics: TopicNames) -> Iterator[Block]:
    """The blocks of one bucket; small ones that follow each other are joined. topics: gives topics their names."""
    tables = {name: _Rows(spilled_batches(spill, name, _COLUMNS[name]), topics) for name in SERVED}
    for end in _ends(spill):
        yield {name: list(tables[name].until(end[name])) for name in SERVED}


def _ends(spill: Path) -> Iterator[dict[str, int]]:
    """How many rows of each of SERVED there are up to the end of each block, or of several that are small."""
    n_before, last = 0, None
    for ends in read_spill(spill, BLOCK_ENDS):
        for end in ends.to_pylist():
            n_rows = sum(end.values())
            if last is not None and n_rows - n_before > GATHERED_ROWS:
                yield last
                n_before = sum(last.values())
            last = end
    if last is not None:
        yield last


@dataclass(slots=True)
class _Rows:
    """The rows of one table; no batch of them lies in two blocks."""

    batches: Iterator[pa.Table]
    topics: TopicNames
    n_read: int = 0

    def until(self, end: int) -> Iterator[NamedRows]:
        """The rows up to that one, batch by batch."""
        for rows in joined_batches(self._until(end)):
            names, ids = (rows[name].combine_chunks() for name in ("topic", "topic_id"))
            yield NamedRows(self.topics.complete_coded(names, ids), rows)

    def _until(self, end: int) -> Iterator[pa.Table]:
        while self.n_read < end:
            rows = next(self.batches)
            self.n_read += rows.num_rows
            yield rows


def joined(parts: list[NDArray[np.void]], dtype: np.dtype[np.void]) -> NDArray[np.void]:
    """All rows of the parts."""
    return np.concatenate([np.empty(0, dtype), *parts])
