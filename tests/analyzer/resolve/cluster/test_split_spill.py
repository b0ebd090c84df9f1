"""Dividing the spill of a bucket into groups of connections."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.resolve.cluster.split_spill import divide_spill, group_spill
from kafkascope_analyzer.scan.spill import Spill, read_spill, spilled_tables


def rows_of(directory: Path, name: str) -> list[tuple[int, ...]]:
    tables = [rows.to_pydict() for rows in read_spill(directory, name)]
    return [row for columns in tables for row in zip(*columns.values(), strict=True)]


def test_connections_are_renumbered_in_their_group_and_look_ups_go_to_the_first(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "0")
    spill.write("connections", pa.table({"server_port": pa.array([1, 2, 3, 4, 5], pa.int32())}))
    spill.write("requests", pa.table({"conn": [4, 0, 3, 4, 1], "number": [0, 0, 0, 1, 0]}))
    spill.write("errors", pa.table({"conn": [0], "number": [7]}))
    spill.write("dns", pa.table({"ts_ns": [1, 2]}))
    spill.close()
    divide_spill(spill.directory, np.array([0, 0, 1, 1, 1]))
    first, second = (group_spill(spill.directory, number) for number in (0, 1))
    assert [rows_of(place, "connections") for place in (first, second)] == [[(1,), (2,)], [(3,), (4,), (5,)]]
    assert rows_of(first, "requests") == [(0, 0), (1, 0)]
    assert rows_of(second, "requests") == [(2, 0), (1, 0), (2, 1)]
    assert spilled_tables(first) == ["connections", "dns", "errors", "requests"]
    assert spilled_tables(second) == ["connections", "requests"]
    assert rows_of(first, "dns") == [(1,), (2,)]
    assert spilled_tables(spill.directory) == []
