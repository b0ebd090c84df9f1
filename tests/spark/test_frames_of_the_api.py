"""`kafkascope.open(...)[...].spark()`: the rows of a table's files as a DataFrame of the session that is there."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import kafkascope


@pytest.mark.spark
def test_spark_reads_the_rows_of_the_files(spark: Any, told_leader_move: Path) -> None:
    place = told_leader_move
    expected = {}
    for file in (place / "requests").rglob("*.parquet"):
        rows = pq.ParquetFile(file).read(columns=["request_id", "latency_us"]).to_pylist()
        expected |= {row["request_id"]: row["latency_us"] for row in rows}
    dataset = kafkascope.open(place)
    requests = dataset["requests"][["request_id", "latency_us"]]
    assert {row.request_id: row.latency_us for row in requests.spark(spark).collect()} == expected
    assert requests.spark().sparkSession.sparkContext is spark.sparkContext
    for name in ("messages.Metadata_response", "topics", "incidents"):
        assert dataset[name].spark().count() == len(dataset[name]) > 0
    assert dataset.sql("select 'a' as letter, 1 as number").spark().collect() == [("a", 1)]
