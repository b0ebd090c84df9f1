"""Whose events are read apart, and how tables are read."""

import pathlib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.storms import storm


def write_errors(dataset: pathlib.Path) -> None:
    (dataset / "errors" / "bucket=1").mkdir(parents=True)
    rows = (
        [("a", "t", 0), ("a", "t", 0), ("b", "t", 7)],
        [("c", "u", 0), ("b", "u", None), ("a", None, None), (None,) * 3],
    )
    for number, (place, some) in enumerate(zip((".", "bucket=1"), rows, strict=True)):
        table = pa.table(dict(zip(("client_ip", "topic", "partition"), zip(*some, strict=True), strict=True)))
        pq.write_table(table, dataset / "errors" / place / f"part-{number}.parquet")


def test_addresses_with_many_errors_are_named(tmp_path: pathlib.Path) -> None:
    assert storm.storming(tmp_path, 1) == ()
    write_errors(tmp_path)
    assert storm.storming(tmp_path, 3) == ("a",)
    assert storm.storming(tmp_path, 2) == ("a", "b")
    assert storm.storming(tmp_path, 9) == ()


def test_what_is_broken_is_named_once(tmp_path: pathlib.Path) -> None:
    assert storm.storm_of(tmp_path, 1) is None
    write_errors(tmp_path)
    found = storm.storm_of(tmp_path, 2)
    assert found is not None
    assert found.addresses == ("a", "b")
    assert sorted(map(repr, found.broken.to_pylist())) == [
        "{'topic': 't', 'partition': 0}",
        "{'topic': 't', 'partition': 7}",
        "{'topic': 'u', 'partition': None}",
    ]


def test_columns_that_a_file_lacks_are_null(tmp_path: pathlib.Path) -> None:
    write_errors(tmp_path)
    path = tmp_path / "errors" / "part-0.parquet"
    assert path in storm.files_of(tmp_path, ERRORS)
    whole = pa.Table.from_batches(storm.scanned(path, ERRORS, ["client_ip", "node_id", "partition"], None))
    assert whole.schema.field("partition").type == ERRORS.schema.field("partition").type
    assert whole["client_ip"].to_pylist() == ["a", "a", "b"]
    assert whole["node_id"].to_pylist() == [None] * 3
    some = pa.Table.from_batches(storm.scanned(path, ERRORS, ["client_ip", "partition"], pc.field("partition") == 7))
    assert some["client_ip"].to_pylist() == ["b"]
