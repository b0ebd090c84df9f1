"""Writing a table: rows come back sorted, each day has files of its own, and a column of nulls costs no memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.parquet_files import written_file
from kafkascope_analyzer.dataset.table_place import UNDATED, TablePlace
from kafkascope_analyzer.dataset.writer import MOST_OPEN, RowGroup, TableWriter

N = 20_000
WIDE = pa.struct([(f"f{i}", pa.int64()) for i in range(500)])
SCHEMA = pa.schema([("ts_ns", pa.int64()), ("own", pa.struct([("n", pa.int64())])), ("other", WIDE)])


@pytest.fixture
def rows() -> pa.Table:
    ts_ns = np.random.default_rng(7).permutation(N)
    own = pa.StructArray.from_arrays([pa.array(ts_ns * 10)], fields=list(SCHEMA.field("own").type))
    return pa.table([pa.array(ts_ns), own, pa.nulls(N, WIDE)], schema=SCHEMA)


def test_rows_are_sorted_within_row_groups_of_the_given_size(rows: pa.Table, tmp_path: Path) -> None:
    with TableWriter(
        TablePlace(tmp_path, "part-0-a.parquet"), SCHEMA, sort_by=("ts_ns",), group=RowGroup(N // 4, 1 << 30)
    ) as writer:
        writer.write(rows)
    assert writer.n_rows == N
    file = pq.ParquetFile(tmp_path / "date=1970-01-01" / "part-0-a.parquet")
    groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
    assert [group.num_rows for group in groups] == [N // 4] * 4
    for number, group in enumerate(groups):
        times = group["ts_ns"].to_numpy()
        assert times.tolist() == sorted(rows["ts_ns"].to_numpy()[number * N // 4 : (number + 1) * N // 4].tolist())
        assert [row["n"] for row in group["own"].to_pylist()] == (times * 10).tolist()
        assert group["other"].null_count == N // 4


def test_a_column_of_nulls_is_not_copied(rows: pa.Table, tmp_path: Path) -> None:
    """Its 500 fields would take 80 MB."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        with TableWriter(TablePlace(tmp_path, "part-0-a.parquet"), SCHEMA, sort_by=("ts_ns",)) as writer:
            writer.write(rows)
    finally:
        pa.set_memory_pool(before)
    assert pool.max_memory() < 20 << 20


def test_numbers_that_rise_from_row_to_row_are_stored_as_differences(tmp_path: Path) -> None:
    """Packet numbers with gaps take a few bits each, where zstd alone leaves bytes of each. Rows are as they were."""
    steps = np.random.default_rng(7).integers(1, 40, N)
    table = pa.table({"packet_no": np.cumsum(steps), "latency_us": np.cumsum(steps)})
    path = TablePlace(tmp_path, "part-0-a.parquet")
    with TableWriter(path, table.schema) as writer:
        writer.write(table)
    file = pq.ParquetFile(tmp_path / "part-0-a.parquet")
    packet_no, latency_us = (file.metadata.row_group(0).column(i) for i in range(2))
    assert "DELTA_BINARY_PACKED" in packet_no.encodings
    assert "DELTA_BINARY_PACKED" not in latency_us.encodings
    assert packet_no.total_compressed_size < 0.7 * latency_us.total_compressed_size
    assert file.read().equals(table)


DAY_NS = 86_400_000_000_000
TIMES = pa.schema([("ts_ns", pa.int64()), ("n", pa.int64())])


def rows_of_days(days: list[int]) -> pa.Table:
    """The last nanosecond of each day; the number of the row."""
    return pa.table([[(day + 1) * DAY_NS - 1 for day in days], list(range(len(days)))], schema=TIMES)


def test_each_day_has_files_of_its_own(tmp_path: Path) -> None:
    place = TablePlace(tmp_path, "bucket=3/part-0-a.parquet")
    with TableWriter(place, TIMES, made_of=["x"]) as writer:
        writer.write(rows_of_days([0, 1, 0, -1]))
        writer.write(pa.table([[None, 1], [5, 6]], schema=TIMES))
    found = {path.relative_to(tmp_path).parts[0]: written_file(path, "a") for path in place.files()}
    rows = {day: pq.ParquetFile(tmp_path / day / place.part).read()["n"].to_pylist() for day in found}
    assert rows == {"date=1969-12-31": [3], "date=1970-01-01": [0, 2, 6], "date=1970-01-02": [1], UNDATED: [5]}
    assert found["date=1970-01-01"].times == (1, DAY_NS - 1)
    assert found[UNDATED].times is None
    assert {file.made_of for file in found.values()} == {("x",)}


def test_a_day_that_comes_again_has_another_file(tmp_path: Path) -> None:
    """Only some files are open at a time, however many days the rows have."""
    place = TablePlace(tmp_path, "part-0-a.parquet")
    with TableWriter(place, TIMES) as writer:
        for day in [*range(2 * MOST_OPEN), 0]:
            writer.write(rows_of_days([day]))
    assert len(place.files()) == 2 * MOST_OPEN + 1
    assert [path.name for path in place.files() if "1970-01-01" in str(path)] == ["part-0-1-a.parquet", place.part]
    assert sum(pq.read_metadata(path).num_rows for path in place.files()) == writer.n_rows == 2 * MOST_OPEN + 1


def test_a_table_without_times_is_not_divided(tmp_path: Path) -> None:
    place = TablePlace(tmp_path, "part-0-a.parquet")
    with TableWriter(place, pa.schema([("n", pa.int64())])) as writer:
        writer.write(pa.table({"n": [1, 2]}))
    assert place.files() == [tmp_path / place.part]
