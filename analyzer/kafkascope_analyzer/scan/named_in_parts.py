"""The connections and topics in the rows of a part, noted when the part has ended.

The table rows made of a part change later only where something else is learned about these
(resolve.tables.parted_table).
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.scan.spill import read_spill, spilled_columns, spilled_tables

NAMED = "facts.named"
"""Spilled table: table, conn and topic_id: the connections and topic ids that occur together in rows of each spilled
table of a part; topic_id is null where a row has none."""
_NAMES = ["conn", "topic_id"]


def named_in_part(directory: Path, part: int) -> Iterator[pa.Table]:
    """Yields the rows of NAMED for a spilled part."""
    for name in spilled_tables(directory):
        columns = [each for each in spilled_columns(directory, name, part) if each in _NAMES]
        if "conn" in columns:
            parts = [_distinct(rows) for rows in read_spill(directory, name, columns, part)]
            rows = _distinct(pa.concat_tables(parts))
            yield rows.append_column("table", pa.repeat(name, rows.num_rows))


def _distinct(rows: pa.Table) -> pa.Table:
    """Returns the distinct rows, with both of _NAMES."""
    topic_ids = (
        rows["topic_id"].cast(pa.string()) if "topic_id" in rows.column_names else pa.nulls(len(rows), pa.string())
    )
    named = pa.table([rows["conn"].cast(pa.int64()), topic_ids], _NAMES)
    return named.group_by(_NAMES, use_threads=False).aggregate([])
