"""Writing a table: rows come back sorted, and a column of nulls costs no memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.writer import RowGroup, TableWriter

N = 20_000
WIDE = pa.struct([(f"f{i}", pa.int64()) for i in range(500)])
SCHEMA = pa.schema([("ts_ns", pa.int64()), ("own", pa.struct([("n", pa.int64())])), ("other", WIDE)])


@pytest.fixture
def rows() -> pa.Table:
    ts_ns = np.random.default_rng(7).permutation(N)
    own = pa.StructArray.from_arrays([pa.array(ts_ns * 10)], fields=list(SCHEMA.field("own").type))
    return pa.table([pa.array(ts_ns), own, pa.nulls(N, WIDE)], schema=SCHEMA)


def test_rows_are_sorted_within_row_groups_of_the_given_size(rows: pa.Table, tmp_path: Path) -> None:
    with TableWriter(tmp_path / "a.parquet", SCHEMA, sort_by=("ts_ns",), group=RowGroup(N // 4, 1 << 30)) as writer:
        writer.write(rows)
    assert writer.n_rows == N
    file = pq.ParquetFile(tmp_path / "a.parquet")
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
        with TableWriter(tmp_path / "a.parquet", SCHEMA, sort_by=("ts_ns",)) as writer:
            writer.write(rows)
    finally:
        pa.set_memory_pool(before)
    assert pool.max_memory() < 20 << 20
