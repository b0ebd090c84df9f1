"""Which rows of a spilled table are read again where the files of earlier runs stay."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.parted_table import PartedTable
from kafkascope_analyzer.scan.named_in_parts import NAMED, named_in_part
from kafkascope_analyzer.scan.spill import Spill

NAME = "partitions.1.response"
CONNECTIONS_OF_PARTS = ([0, 1, 0], [1, 2], [2, 3], [0, 3])
N_CONNECTIONS = 4


@pytest.fixture
def parted(tmp_path: Path) -> PartedTable:
    """A table of four parts, of which the first three are kept."""
    directory = tmp_path / "0"
    for part, conn in enumerate(CONNECTIONS_OF_PARTS):
        spill = Spill(directory, part)
        spill.write(NAME, pa.table({"conn": conn, "place": [f"{part}.{at}" for at in range(len(conn))]}))
        spill.write("requests", pa.table({"conn": list(range(N_CONNECTIONS))}))
        spill.close()
        for rows in named_in_part(directory, part):
            spill.gather(NAMED, rows)
        spill.close()
    made = PartedTable(Bucket(directory, tmp_path, "part-0-a.parquet"), PARTITIONS, [NAME], cast("Any", None))
    made.is_kept = frozenset(range(3))
    return made


@pytest.mark.parametrize(
    ("wanted", "read"),
    [
        ([], [0, 0, 0, 0]),
        ([0], [1, 0, 0, 0]),
        ([2], [0, 1, 1, 0]),
        ([1, 3], [1, 1, 1, 0]),
    ],
)
def test_of_kept_parts_those_connections_are_read(parted: PartedTable, wanted: list[int], read: list[int]) -> None:
    mask = np.isin(np.arange(N_CONNECTIONS), wanted)
    opened: list[int] = []
    read_part = parted._read

    def noted(name: str, parts: list[int]) -> Any:
        opened.extend(parts if name == NAME else ())
        return read_part(name, parts)

    parted._read = noted  # type: ignore[method-assign]
    found = [(part, place) for part, rows in parted.batches(NAME, mask) for place in rows["place"].to_pylist()]
    kept = [
        (2, f"{part}.{at}")
        for part, conns in enumerate(CONNECTIONS_OF_PARTS[:3])
        for at, conn in enumerate(conns)
        if conn in wanted
    ]
    assert found == [*kept, (3, "3.0"), (3, "3.1")]
    assert opened == [*np.flatnonzero(read), 3]


def test_without_a_choice_all_rows_are_read(parted: PartedTable) -> None:
    places = [place for _, rows in parted.batches(NAME) for place in rows["place"].to_pylist()]
    assert places == [f"{part}.{at}" for part, conn in enumerate(CONNECTIONS_OF_PARTS) for at in range(len(conn))]
