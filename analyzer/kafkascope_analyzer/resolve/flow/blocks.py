"""Reads the Produce and Fetch responses of a bucket from its spill, one block of the capture at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import BLOCK_ENDS, FETCHED, SERVED
from kafkascope_analyzer.scan.spill import GATHERED_ROWS, joined_batches, read_spill, spilled_batches, spilled_parts
from kafkascope_parsers.row_copies import joined_rows

_PLACE = ["conn", "number", "topic", "topic_id", "partition"]
_COLUMNS = {
    BATCHES: [
        *_PLACE,
        *("ts_ns", "partition_offset", "error_code"),
        *("sent_ns", "n_records", "record_bytes", "first_timestamp_ms", "max_timestamp_ms"),
    ],
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
"""Table name -> rows, for each of the tables SERVED."""


def block_parts(spill: Path) -> list[int]:
    """Returns the parts of a bucket that have blocks."""
    return spilled_parts(spill, [BLOCK_ENDS])


def blocks(spill: Path, topics: TopicNames, parts: Sequence[int]) -> Iterator[Block]:
    """Yields the blocks of one bucket; small consecutive ones are joined. topics: names of topics; parts: the parts to
    read, a consecutive run of those of `block_parts`."""
    ends = [end for part in parts for rows in read_spill(spill, BLOCK_ENDS, part=part) for end in rows.to_pylist()]
    before = _end_before(spill, parts)
    tables = {name: _Rows(_batches(spill, name, parts), topics, before[name]) for name in SERVED}
    for end in _joined_ends(ends, before):
        yield {name: list(tables[name].until(end[name])) for name in SERVED}


def _batches(spill: Path, name: str, parts: Sequence[int]) -> Iterator[pa.Table]:
    for part in parts:
        yield from spilled_batches(spill, name, _COLUMNS[name], part)


def _end_before(spill: Path, parts: Sequence[int]) -> dict[str, int]:
    """Returns the number of rows of each table of SERVED in the parts before these."""
    earlier = [part for part in block_parts(spill) if parts and part < parts[0]]
    last = [rows.slice(rows.num_rows - 1) for part in earlier[-1:] for rows in read_spill(spill, BLOCK_ENDS, part=part)]
    return last[-1].to_pylist()[0] if last else dict.fromkeys(SERVED, 0)


def _joined_ends(ends: Sequence[dict[str, int]], before: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yields the number of rows of each table of SERVED up to the end of each block, or of several small ones."""
    n_before, last = sum(before.values()), None
    for end in ends:
        if last is not None and sum(end.values()) - n_before > GATHERED_ROWS:
            yield last
            n_before = sum(last.values())
        last = end
    if last is not None:
        yield last


@dataclass(slots=True)
class _Rows:
    """The rows of one table; no batch of them crosses the end of a block."""

    batches: Iterator[pa.Table]
    topics: TopicNames
    n_read: int

    def until(self, end: int) -> Iterator[NamedRows]:
        """Yields the rows before row number `end`, batch by batch."""
        for rows in joined_batches(self._until(end)):
            names, ids = (rows[name].combine_chunks() for name in ("topic", "topic_id"))
            yield NamedRows(self.topics.complete_coded(names, ids), rows)

    def _until(self, end: int) -> Iterator[pa.Table]:
        while self.n_read < end:
            rows = next(self.batches)
            self.n_read += rows.num_rows
            yield rows


def joined(parts: list[NDArray[np.void]], dtype: np.dtype[np.void]) -> NDArray[np.void]:
    """Returns all rows of the parts."""
    return joined_rows([np.empty(0, dtype), *parts])
