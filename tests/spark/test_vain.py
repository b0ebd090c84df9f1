"""Requests that failed with their connection, read without Spark."""

import pathlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark import vain, wire

SECOND = 1_000_000_000


def written(place: pathlib.Path, requests: list[dict[str, Any]], connections: list[dict[str, Any]]) -> pathlib.Path:
    for table, rows in ((REQUESTS, requests), (CONNECTIONS, connections)):
        (place / table.name).mkdir()
        schema = pa.schema([field.with_nullable(True) for field in table.schema])
        pq.write_table(pa.Table.from_pylist(rows, schema), place / table.name / "part-0.parquet")
    return place


def request(conn_id: str, api_key: int, status: str = "unanswered", at: int = 1) -> dict[str, Any]:
    row = {"request_id": f"{conn_id}-{api_key}", "conn_id": conn_id, "api_key": api_key, "status": status}
    return row | {"request_last_ns": at * SECOND}


REQUESTS_SENT = [
    request("reset", wire.PRODUCE),
    request("reset", wire.METADATA),
    request("reset", wire.FETCH, "ok"),
    request("left", wire.FETCH, at=9),
    request("gave up", wire.PRODUCE, at=7),
    request("gave up", wire.FETCH, at=7),
    request("late", wire.FETCH),
    request("open", wire.FETCH),
]
ENDS = [
    ("reset", "rst_server", 10),
    ("left", "fin_client", 10),
    ("gave up", "fin_client", 10),
    ("late", "fin_client", 10),
    ("open", "open", None),
]
CLOSED = [{"conn_id": c, "close_kind": k, "close_ns": None if at is None else at * SECOND} for c, k, at in ENDS]


def test_only_what_a_failed_connection_left_open_was_asked_in_vain(tmp_path: pathlib.Path) -> None:
    place = written(tmp_path, REQUESTS_SENT, CLOSED)
    assert vain.ids_asked_in_vain(place) == (
        f"gave up-{wire.PRODUCE}",
        f"late-{wire.FETCH}",
        f"reset-{wire.PRODUCE}",
    )


@pytest.mark.parametrize(("name", "most"), [("MOST_IDS", 1), ("MOST_READ", 4)])
def test_many_are_left_to_spark(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    monkeypatch.setattr(vain, name, most)
    assert vain.ids_asked_in_vain(written(tmp_path, REQUESTS_SENT, CLOSED)) is None


@pytest.mark.parametrize(("requests", "connections"), [([], CLOSED), (REQUESTS_SENT, []), ([], [])])
def test_nothing_is_asked_of_nobody(
    tmp_path: pathlib.Path, requests: list[dict[str, Any]], connections: list[dict[str, Any]]
) -> None:
    assert vain.ids_asked_in_vain(written(tmp_path, requests, connections)) == ()


def test_those_of_some_clients_however_many(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vain, "MOST_IDS", 1)
    assert len(vain.ids_asked_in_vain_by(tmp_path, ["a"])) == 0, "no table, no request"
    whose = {"gave up": "a", "reset": "b"}
    place = written(tmp_path, [row | {"client_ip": whose.get(row["conn_id"], "c")} for row in REQUESTS_SENT], CLOSED)
    assert vain.ids_asked_in_vain_by(place, ["a", "d"]).to_pylist() == [f"gave up-{wire.PRODUCE}"]
    assert sorted(vain.ids_asked_in_vain_by(place, ["a", "b"]).to_pylist()) == [
        f"gave up-{wire.PRODUCE}",
        f"reset-{wire.PRODUCE}",
    ]
