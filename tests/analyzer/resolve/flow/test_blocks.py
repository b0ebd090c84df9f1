"""Reading what producers and consumers were answered, block by block."""

from pathlib import Path

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.blocks import block_parts, blocks
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import BLOCK_ENDS, FETCHED, block_end
from kafkascope_analyzer.scan.spill import GATHERED_ROWS, Spill

_TEXT = pa.dictionary(pa.int32(), pa.string())
_NUMBERS = ("error_code", "partition_offset", "sent_ns", "n_records", "record_bytes")
_NUMBERS += ("first_timestamp_ms", "max_timestamp_ms")


def _batches(n: int) -> pa.Table:
    texts = {"topic": pa.array(["orders"] * n, _TEXT), "topic_id": pa.nulls(n, _TEXT)}
    numbers = {name: pa.array([0] * n, pa.int64()) for name in ("conn", "partition", *_NUMBERS)}
    return pa.table({**numbers, **texts, "number": range(n), "ts_ns": range(n)})


def _spilled(directory: Path, lengths: list[int]) -> None:
    """Spills a block of the capture for each length, each as a part of its own, as if it had been appended."""
    n_rows = 0
    for part, length in enumerate(lengths):
        spill = Spill(directory, part)
        spill.write(BATCHES, _batches(length))
        n_rows += length
        spill.gather(BLOCK_ENDS, block_end({BATCHES: n_rows}))
        spill.close()


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([3, 0, 4, 5], [12]),
        ([GATHERED_ROWS, 1, 2], [GATHERED_ROWS, 3]),
        ([1, GATHERED_ROWS + 1, 1], [1, GATHERED_ROWS + 1, 1]),
        ([0, 0], [0]),
        ([], []),
    ],
)
def test_small_blocks_are_read_together(lengths: list[int], expected: list[int], tmp_path: Path) -> None:
    _spilled(tmp_path, lengths)
    found = list(blocks(tmp_path, TopicNames.of({}), block_parts(tmp_path)))
    assert [sum(named.rows.num_rows for named in block[BATCHES]) for block in found] == expected
    assert all(len(block[BATCHES]) <= 1 and block[FETCHED] == [] for block in found)
    assert all(set(named.topics.to_pylist()) == {"orders"} for block in found for named in block[BATCHES])


def test_blocks_of_some_parts_have_their_rows_alone(tmp_path: Path) -> None:
    _spilled(tmp_path, [3, 4, 5])
    (block,) = blocks(tmp_path, TopicNames.of({}), [1, 2])
    assert [named.rows["number"].to_pylist() for named in block[BATCHES]] == [[*range(4), *range(5)]]
