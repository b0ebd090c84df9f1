"""Facts about clients and groups from messages made by hand: one row for each connection that has some."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, no_messages, only, spilled

from kafkascope_analyzer.resolve.cluster.message_facts import learned_rows, spilled_ids

BROKERS = pa.list_(pa.struct([("host", pa.string()), ("port", pa.int32())]))
INT32 = (-(2**31), 2**31 - 1)
NAMES = ("conn_id", "servers", "producer_ids", "session_timeout_ms", "rebalance_timeout_ms", "heartbeat_interval_ms")


class Messages:
    """Reads rows as the bucket's messages, n at a time."""

    def __init__(self, rows: dict[str, list[Row]], n: int) -> None:
        self._rows, self._n = rows, n

    def __call__(self, name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        types = {"conn_id": pa.string(), "brokers": BROKERS}
        schema = pa.schema([(column, types.get(column, pa.int32())) for column in columns])
        rows = [dict.fromkeys(columns) | {key: row[key] for key in columns if key in row} for row in self._rows[name]]
        yield from pa.Table.from_pylist(rows, schema).to_batches(max_chunksize=self._n)


def facts(rows: dict[str, list[Row]], n: int = 100, ids: Any = ()) -> list[tuple[Any, ...]]:
    def read(name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return Messages(rows, n)(name, columns) if name in rows else no_messages(name, columns)

    return sorted(only(learned_rows(read, ids).to_pylist(), *NAMES))


@pytest.mark.parametrize("n", [1, 100])
def test_the_brokers_of_metadata_are_listed_once_and_sorted(n: int) -> None:
    a, b = {"host": "a", "port": 9092}, {"host": "b", "port": INT32[1]}
    rows = [("c1", [b, a]), ("c0", [a]), ("c1", [b, {"host": None, "port": 1}, {"host": "x", "port": None}])]
    found = facts({"Metadata/response": [{"conn_id": conn, "brokers": brokers} for conn, brokers in rows]}, n)
    assert found == [
        ("c0", ["a:9092"], [], None, None, None),
        ("c1", ["a:9092", "b:2147483647"], [], None, None, None),
    ]


def test_a_response_without_brokers_tells_nothing() -> None:
    rows = [{"conn_id": "c0", "brokers": []}, {"conn_id": "c1", "brokers": None}]
    assert facts({"Metadata/response": rows}) == []


@pytest.mark.parametrize("n", [1, 100])
def test_the_longest_of_each_term_counts_whatever_message_says_it(n: int) -> None:
    rows = {
        "JoinGroup/request": [
            {"conn_id": "c0", "session_timeout_ms": 10, "rebalance_timeout_ms": INT32[1]},
            {"conn_id": "c0", "session_timeout_ms": 30, "rebalance_timeout_ms": None},
            {"conn_id": "c0", "session_timeout_ms": INT32[0]},
        ],
        "ConsumerGroupHeartbeat/response": [
            {"conn_id": "c0", "heartbeat_interval_ms": 5},
            {"conn_id": "c1", "heartbeat_interval_ms": 7},
        ],
        "ShareGroupHeartbeat/response": [{"conn_id": "c1", "heartbeat_interval_ms": 6}],
    }
    assert facts(rows, n) == [("c0", [], [], 30, INT32[1], 5), ("c1", [], [], None, None, 7)]


def test_producer_ids_of_the_records_of_a_connection(tmp_path: Path) -> None:
    produced = {"conn": [0, 0, 0, 1, 2], "producer_id": pa.array([7, 2**63 - 1, 7, None, -1], pa.int64())}
    spill = spilled(tmp_path / "0", partitions__0__request=pa.table(produced))
    ids = spilled_ids(spill, pa.array(["c0", "c1", "c2"]))
    assert facts({}, ids=ids) == [("c0", [], [7, 2**63 - 1], None, None, None), ("c2", [], [-1], None, None, None)]


def test_a_bucket_without_messages_and_records_tells_nothing(tmp_path: Path) -> None:
    assert facts({}, ids=spilled_ids(tmp_path, pa.array([], pa.string()))) == []
