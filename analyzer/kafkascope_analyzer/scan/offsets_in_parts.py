"""The highest offsets and the times of each topic-partition in a part, noted when the part has ended.

Later questions about an offset or a time then need only the rows of parts that may answer them (resolve.flow).
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import FETCHED
from kafkascope_analyzer.scan.spill import read_spill

OFFSETS = "facts.offsets"
"""Spilled table: topic, topic_id, partition; first_ns and last_ns: times of accepted batches and of responses to Fetch;
end_offset: no row has an offset behind it; is_written: 1 where batches were accepted, else 0; high_watermark and
last_stable_offset: the highest, null where there is none; stable_ns: time of the last row that has a last stable
offset."""
_PLACE = ("topic", "topic_id", "partition")
_READ = {
    BATCHES: [*_PLACE, "ts_ns", "partition_offset", "error_code"],
    FETCHED: [*_PLACE, "ts_ns", "high_watermark", "last_stable_offset"],
}
_HOW = {
    "first_ns": "min",
    "last_ns": "max",
    "end_offset": "max",
    "is_written": "max",
    "high_watermark": "max",
    "last_stable_offset": "max",
    "stable_ns": "max",
}


def offsets_in_part(directory: Path, part: int) -> pa.Table | None:
    """Returns the rows of OFFSETS for a spilled part."""
    found = list[pa.Table]()
    for name, columns_of in ((BATCHES, _of_batches), (FETCHED, _of_fetched)):
        for rows in read_spill(directory, name, _READ[name], part):
            columns = {each: rows[each].cast(pa.string()) for each in ("topic", "topic_id")}
            columns |= {"partition": rows["partition"], **columns_of(rows)}
            table = pa.table([columns[each] for each in (*_PLACE, *_HOW)], [*_PLACE, *_HOW])
            found.append(_reduced(table.filter(pc.is_valid(table["end_offset"]))))
    return _reduced(pa.concat_tables(found)) if found else None


def _of_batches(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    is_accepted = pc.and_(pc.equal(rows["error_code"], 0), pc.greater_equal(rows["partition_offset"], 0))
    ends = pc.if_else(is_accepted, pc.add(rows["partition_offset"], 1), None)
    nulls = pa.nulls(rows.num_rows, pa.int64())
    columns = dict.fromkeys(("high_watermark", "last_stable_offset", "stable_ns"), nulls)
    columns |= {"first_ns": rows["ts_ns"], "last_ns": rows["ts_ns"], "end_offset": ends}
    return columns | {"is_written": pa.array(np.ones(rows.num_rows, np.int64))}


def _of_fetched(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    columns = {name: _known(rows[name], rows[name]) for name in ("high_watermark", "last_stable_offset")}
    columns["end_offset"] = pc.max_element_wise(*columns.values())
    columns |= {"first_ns": rows["ts_ns"], "last_ns": rows["ts_ns"]}
    columns["stable_ns"] = _known(rows["last_stable_offset"], rows["ts_ns"])
    return columns | {"is_written": pa.array(np.zeros(rows.num_rows, np.int64))}


def _known(offsets: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the values where the offset is known."""
    return pc.if_else(pc.greater_equal(offsets, 0), values, None)


def _reduced(rows: pa.Table) -> pa.Table:
    """Returns one row for each topic-partition."""
    found = rows.group_by(list(_PLACE), use_threads=False).aggregate(list(_HOW.items()))
    return found.select([*_PLACE, *(f"{name}_{how}" for name, how in _HOW.items())]).rename_columns([*_PLACE, *_HOW])
