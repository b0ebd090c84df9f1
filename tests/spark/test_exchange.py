"""Exchanges keep clusters apart, and a stage sees one cluster after the other, however rows come."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_spark.exchange import Exchange, batch_of, clusters

SCHEMA = pa.schema([("cluster", pa.string()), ("n", pa.int64())])


def test_the_cluster_is_the_first_key() -> None:
    for keys, order in ((("key",), ("cluster", "key")), (("cluster", "key"), ("key", "cluster"))):
        with pytest.raises(ValueError, match="rows of two clusters would meet"):
            Exchange(keys, order)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9))).map(sorted), st.data())
def test_a_stage_sees_one_cluster_after_the_other(rows: list[tuple[str, int]], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    parts = [rows[first:last] for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    batches = [pa.RecordBatch.from_pylist([{"cluster": name, "n": n} for name, n in part], SCHEMA) for part in parts]
    seen = [
        (name, [n for batch in of_cluster for n in batch.column("n").to_pylist()])
        for name, of_cluster in clusters(batches)
    ]
    assert [name for name, _ in seen] == sorted({name for name, _ in rows})
    assert [(name, n) for name, numbers in seen for n in numbers] == rows


def test_rows_become_those_of_a_cluster() -> None:
    assert batch_of(SCHEMA, "a", [(1,), (2,)]).to_pylist() == [{"cluster": "a", "n": 1}, {"cluster": "a", "n": 2}]
    assert batch_of(SCHEMA, "a", []).num_rows == 0
