"""Consumers that a transaction holds back of which the capture shows nothing else: on Fetch answers made by hand."""

import pathlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_spark.tables import Tables
from kafkascope_spark.transactions.shown import shows_held_back, shows_transactions
from kafkascope_spark.transactions.transform import transactions

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000
READERS = {"committed": 1, "uncommitted": 0, "moving": 1, "patient": 1}
"""Isolation level of each reader: on its connection, of the same name."""


def answers(reader: str, topic: str, stable: list[int], high: list[int]) -> list[dict[str, Any]]:
    """One Fetch answer every 4 s."""
    return [
        {
            "request_id": f"{reader}-{n}",
            "conn_id": reader,
            "ts_ns": 4 * n * SECOND,
            "ts": 4_000_000 * n,
            "api_key": 1,
            "direction": "response",
            "topic": topic,
            "partition": 0,
            "last_stable_offset": of[0],
            "high_watermark": of[1],
        }
        for n, of in enumerate(zip(stable, high, strict=True))
    ]


ROWS = [
    *answers("committed", "stuck", [17, 17, 17, 17], [18, 20, 22, 24]),
    *answers("uncommitted", "stuck", [17, 17, 17, 17], [18, 20, 22, 24]),
    *answers("moving", "busy", [10, 12, 14, 16], [11, 13, 15, 17]),
    *answers("patient", "quiet", [5, 5, 5, 5], [6, 6, 6, 6]),
]


@pytest.fixture
def dataset(tmp_path: pathlib.Path) -> pathlib.Path:
    owners = [{"client_instance_id": f"ci-{name}", "conn_ids": [name]} for name in READERS]
    asked = [{"conn_id": name, "isolation_level": level} for name, level in READERS.items()]
    isolation = pa.schema([("conn_id", pa.string()), ("isolation_level", pa.int8())])
    ids = [{"request_id": row["request_id"], "conn_id": row["conn_id"]} for row in ROWS]
    write(tmp_path / "stories" / CLIENTS.name, owners, CLIENTS.schema)
    write(tmp_path / PARTITIONS.name, ROWS, PARTITIONS.schema)
    write(tmp_path / REQUESTS.name, ids, pa.schema([pa.field(f.name, f.type) for f in REQUESTS.schema]))
    write(tmp_path / "messages" / "Fetch" / "request", asked, isolation)
    return tmp_path


def write(place: pathlib.Path, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    place.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), place / "part-0.parquet")


@pytest.mark.parametrize("small", [True, False])
def test_only_who_reads_committed_data_and_only_while_records_come(
    spark: Any, dataset: pathlib.Path, small: bool
) -> None:
    assert (shows_transactions(dataset), shows_held_back(dataset)) == (False, True)
    (row,) = transactions(Tables(spark, dataset, (0, 20 * SECOND), small)).toArrow().to_pylist()
    assert (row["transactional_id"], row["outcome"], row["partitions"]) == (None, "cut", ["stuck-0"])
    (stretch,) = row["held_back"]
    assert (stretch["client_instance_id"], stretch["partition"]) == ("ci-committed", "stuck-0")
    assert (stretch["from_ns"], stretch["until_ns"], stretch["last_stable_offset"]) == (0, 12 * SECOND, 17)
    assert (stretch["records"], stretch["request_id"]) == (7, "committed-3")
