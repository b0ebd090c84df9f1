"""Rows that wait on disk: parts, batches, and small batches that are read together."""

from pathlib import Path

import pyarrow as pa
import pytest

from kafkascope_analyzer.scan.spill import GATHERED_ROWS, Spill, read_spill, spilled_batches


def _spilled(directory: Path, parts: list[list[int]]) -> None:
    """Spills a table with a batch of each of these lengths; its rows are numbered, its texts have dictionaries of their
    own in each batch."""
    n = 0
    for part, lengths in enumerate(parts):
        spill = Spill(directory, part)
        for length in lengths:
            texts = pa.array([f"topic-{part}", "shared"]).take(pa.array([k % 2 for k in range(length)]))
            spill.write("rows", pa.table({"number": range(n, n + length), "topic": texts.dictionary_encode()}))
            n += length
        spill.close()


@pytest.mark.parametrize(
    ("parts", "together"),
    [
        ([[3], [4], [5]], [12]),
        ([[3, 4], [5]], [12]),
        ([[GATHERED_ROWS - 1], [1], [2]], [GATHERED_ROWS, 2]),
        ([[GATHERED_ROWS - 1], [2], [2]], [GATHERED_ROWS - 1, 4]),
        ([[1], [GATHERED_ROWS + 1], [1]], [1, GATHERED_ROWS + 1, 1]),
        ([], []),
    ],
)
def test_small_batches_are_read_together(parts: list[list[int]], together: list[int], tmp_path: Path) -> None:
    _spilled(tmp_path, parts)
    batches = list(read_spill(tmp_path, "rows"))
    assert [rows.num_rows for rows in batches] == together
    numbers = [number for rows in batches for number in rows["number"].to_pylist()]
    assert numbers == list(range(sum(together)))
    written = [text for rows in spilled_batches(tmp_path, "rows") for text in rows["topic"].to_pylist()]
    assert [text for rows in batches for text in rows["topic"].to_pylist()] == written


def test_batches_of_one_part_are_read_as_they_were_written(tmp_path: Path) -> None:
    _spilled(tmp_path, [[3, 4], [5, 6]])
    assert [rows.num_rows for rows in spilled_batches(tmp_path, "rows", part=1)] == [5, 6]
    assert [rows.column_names for rows in read_spill(tmp_path, "rows", ["number"], part=1)] == [["number"]]
    assert list(read_spill(tmp_path, "other")) == []
