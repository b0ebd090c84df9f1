"""How far a part reaches, against plain Python."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import FETCHED
from kafkascope_analyzer.scan.offsets_in_parts import offsets_in_part
from kafkascope_analyzer.scan.spill import Spill

TEXT = pa.dictionary(pa.int32(), pa.string())


def spilled(spill: Spill, name: str, rows: list[dict[str, Any]]) -> None:
    columns = {each: pa.array([row.get(each) for row in rows], TEXT) for each in ("topic", "topic_id")}
    numbers = {each for row in rows for each in row} - set(columns)
    columns |= {each: pa.array([row.get(each) for row in rows], pa.int64()) for each in numbers}
    spill.write(name, pa.table(columns))


def test_a_part_reaches_as_far_as_its_rows(tmp_path: Path) -> None:
    orders, sales = {"topic": "orders", "partition": 1}, {"topic_id": "id-1", "partition": 0}
    spill = Spill(tmp_path, 3)
    batches = [(10, 5, 0), (30, 7, 0), (40, 9, 6), (None, None, None)]
    names = ("ts_ns", "partition_offset", "error_code")
    spilled(spill, BATCHES, [orders | dict(zip(names, row, strict=True)) for row in batches])
    names = ("ts_ns", "high_watermark", "last_stable_offset")
    fetched = [orders | dict(zip(names, row, strict=True)) for row in ((20, 8, 6), (50, 11, -1), (60, None, None))]
    fetched += [sales | dict(zip(names, row, strict=True)) for row in ((70, 2, 2), (71, -1, -1))]
    spilled(spill, FETCHED, fetched)
    spill.close()
    found = offsets_in_part(tmp_path, 3)
    assert found is not None
    rows = {(row.pop("topic"), row.pop("topic_id"), row.pop("partition")): row for row in found.to_pylist()}
    assert rows == {
        ("orders", None, 1): {
            "first_ns": 10,
            "last_ns": 50,
            "end_offset": 11,
            "is_written": 1,
            "high_watermark": 11,
            "last_stable_offset": 6,
            "stable_ns": 20,
        },
        (None, "id-1", 0): {
            "first_ns": 70,
            "last_ns": 70,
            "end_offset": 2,
            "is_written": 0,
            "high_watermark": 2,
            "last_stable_offset": 2,
            "stable_ns": 70,
        },
    }
    assert offsets_in_part(tmp_path, 4) is None
