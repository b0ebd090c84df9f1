"""Second pass: reads the counts of a bucket's producers, and aggregates the rows of one time slice: a slice may have
begun in one part of the spill and ended in another."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM
from kafkascope_analyzer.resolve.distinct_rows import group_codes
from kafkascope_analyzer.resolve.flow.counts import PRODUCE_SLICES, RECOUNTED
from kafkascope_analyzer.scan.spill import read_spill, spilled_parts

_KEYS = ["conn", "topic", "partition", "ts_ns"]
_ADDED = {
    "first_ns": "min",
    "last_ns": "max",
    "n_records": "sum",
    "n_again": "sum",
    "record_bytes": "sum",
    "end_offset": "max",
}
"""Aggregations of the counts of one slice. Columns that are neither here nor keys are equal in all of its rows."""


def produce_slices(spill: Path) -> Iterator[pa.Table]:
    """Yields the rows of PRODUCE_SLICES that count, one for each connection, topic-partition and slice. Memory: a
    number for each row, and the rows that are aggregated."""
    keys = [pa.table([flat(rows[name]) for name in _KEYS], _KEYS) for rows in _rows(spill, _KEYS)]
    if not keys:
        return
    codes, n = group_codes([flat(pa.concat_tables(keys)[name]) for name in _KEYS])
    is_single, at, several = np.bincount(codes, minlength=n)[codes] == 1, 0, []
    for rows in _rows(spill):
        chosen = pa.array(is_single[at : at + rows.num_rows])
        at += rows.num_rows
        yield rows.filter(chosen)
        several.append(rows.filter(pc.invert(chosen)))
    yield _added(pa.concat_tables(several).combine_chunks())


def _rows(spill: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yields the rows that count, part by part."""
    since: dict[int, int] = {}
    for rows in read_spill(spill, RECOUNTED):
        since |= zip(rows["conn"].to_pylist(), rows["part"].to_pylist(), strict=True)
    for part in spilled_parts(spill, [PRODUCE_SLICES]):
        gone = pa.array([conn for conn, first in since.items() if part < first], pa.int64())
        for rows in read_spill(spill, PRODUCE_SLICES, columns, part):
            yield rows.filter(pc.invert(pc.is_in(rows["conn"], gone))) if len(gone) else rows


def _added(rows: pa.Table) -> pa.Table:
    """Returns one row for each slice."""
    codes, n = group_codes([flat(rows[name]) for name in _KEYS])
    first = np.full(n, rows.num_rows)
    np.minimum.at(first, codes, np.arange(rows.num_rows))
    numbered = rows.select(list(_ADDED)).append_column("code", pa.array(codes))
    added = numbered.group_by("code", use_threads=False).aggregate(list(_ADDED.items())).sort_by("code")
    out = rows.take(pa.array(first))
    for name, how in _ADDED.items():
        out = out.set_column(out.column_names.index(name), name, added[f"{name}_{how}"])
    at = out.column_names.index("latencies")
    return out.set_column(at, "latencies", _histograms(flat(rows["latencies"]), codes, n))


def _histograms(latencies: pa.ListArray, codes: NDArray[np.int64], n: int) -> pa.ListArray:
    """Returns the sum of the histograms of each code from 0 to n - 1."""
    classes = latencies.flatten()
    fields = {name: classes.field(name) for name in ("from_us", "n")}
    of_class = np.repeat(codes, np.diff(latencies.offsets.to_numpy()))
    added = pa.table({"code": of_class, **fields}).group_by(["code", "from_us"], use_threads=False)
    found = added.aggregate([("n", "sum")]).sort_by([("code", "ascending"), ("from_us", "ascending")])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(found["code"].to_numpy(), minlength=n))]).astype(np.int32)
    parts = [flat(found[name]) for name in ("from_us", "n_sum")]
    structs = pa.StructArray.from_arrays(parts, fields=list(HISTOGRAM.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), structs).cast(HISTOGRAM)
