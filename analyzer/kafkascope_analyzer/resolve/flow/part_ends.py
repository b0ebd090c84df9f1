"""The highest offsets and the times in the parts of the spills that earlier runs have read (scan.offsets_in_parts)."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.scan.offsets_in_parts import OFFSETS
from kafkascope_analyzer.scan.spill import read_spill

PART_ENDS = pa.schema(
    [
        ("part", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in ("first_ns", "last_ns", "end_offset", "is_written", "high_watermark")),
        *((name, pa.int64()) for name in ("last_stable_offset", "stable_ns")),
    ]
)
"""Rows of OFFSETS with the number of their part, and the names of topics."""


def part_ends(spills: Iterable[Path], topics: TopicNames, parts: Sequence[int]) -> NamedRows:
    """Returns the highest offsets and the times in parts (PART_ENDS), of all buckets."""
    found = [PART_ENDS.empty_table()]
    for spill in spills:
        for part in parts:
            for rows in read_spill(spill, OFFSETS, part=part):
                columns = {name: rows[name] for name in rows.column_names}
                columns |= {
                    "part": pa.repeat(part, rows.num_rows),
                    "topic": topics.complete(rows["topic"], rows["topic_id"]),
                }
                found.append(pa.table([columns[name] for name in PART_ENDS.names], PART_ENDS.names).cast(PART_ENDS))
    return named_rows(pa.concat_tables(found).combine_chunks())


def named_rows(rows: pa.Table) -> NamedRows:
    """Returns rows whose topics are texts."""
    return NamedRows(flat(rows["topic"]).dictionary_encode(), rows)
