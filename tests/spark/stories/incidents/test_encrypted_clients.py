"""Incidents and stalls of clients whose requests are known by the lengths of TLS records alone, against those that the
same captures have with the keys of their sessions.

tls_paused: a consumer whose process is stopped for 12 s. tls_late: a producer, some of whose brokers were slow to
accept records for 12 s while one of them was stopped; of the consumer beside it only its beginning. tls_frozen: a
broker that was stopped for 12 s; tls_killed: one that was killed; tls12_cut: a path on which packets were dropped.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.key_logs import key_log_places

pytestmark = pytest.mark.spark

TLS = Path(__file__).parents[4] / "fixtures" / "tls"
NEAR_NS = 300_000_000
Row = dict[str, Any]
Rows = Callable[[str], list[Row]]


@pytest.fixture(scope="module", params=["tls_paused", "tls_late"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def with_keys(name: str, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of a story table of the capture."""
    place = tmp_path_factory.mktemp("keys") / f"{name}.kscope"
    ingest([TLS / f"{name}.pcap.zst"], place, IngestOptions(jobs=1, key_logs=key_log_places([TLS / f"{name}.keys"])))
    write_stories_in_process(place)
    return lambda table: pq.read_table(place / "stories" / table, partitioning=None).to_pylist()


@pytest.fixture(scope="module")
def without_keys(name: str, dataset_of: Callable[..., Path]) -> Rows:
    place = dataset_of(name, ())
    return lambda table: pq.read_table(place / "stories" / table, partitioning=None).to_pylist()


def near(a: int, b: int) -> bool:
    return abs(a - b) <= NEAR_NS


def test_whoever_stalled_seems_to_have_stalled_at_that_time(with_keys: Rows, without_keys: Rows) -> None:
    served = [row for row in with_keys("stalls") if row["served"] and row["client_id"] != "svc-a-5"]
    claimed = without_keys("stalls")
    assert near(min(row["from_ns"] for row in claimed), min(row["from_ns"] for row in served))
    assert near(max(row["to_ns"] for row in claimed), max(row["to_ns"] for row in served))
    assert {row["kind"] for row in claimed} == {row["kind"] for row in served}
    assert {row["client_ip"] for row in claimed} == {row["client_ip"] for row in served}
    assert {(row["claimed"], row["topic"], row["client_id"], row["served"]) for row in claimed} == {
        (True, None, None, True)
    }
    assert {row["claimed"] for row in with_keys("stalls")} == {False}


@pytest.mark.parametrize("name", ["tls_paused"], indirect=True)
def test_a_paused_client_is_an_incident_of_the_same_place_and_time(with_keys: Rows, without_keys: Rows) -> None:
    (shown,), (claimed,) = with_keys("incidents"), without_keys("incidents")
    for column in ("kind", "place", "hosts", "severity"):
        assert claimed[column] == shown[column]
    for column in ("start_ns", "end_ns", "fault_start_ns", "fault_end_ns"):
        assert near(claimed[column], shown[column])
    assert "seems to have been paused" in claimed["sentence"]
    assert "as the lengths of its encrypted requests show" in claimed["sentence"]
    assert "seem" not in shown["sentence"]


@pytest.mark.parametrize(
    ("name", "kind", "place", "seconds"),
    [
        ("tls_frozen", "broker_frozen", "broker", 12),
        ("tls_killed", "broker_down", "broker", None),
        ("tls12_cut", "path", "path", 12),
    ],
    indirect=["name"],
)
def test_what_packets_show_is_the_same_incident_without_keys(
    with_keys: Rows, without_keys: Rows, kind: str, place: str, seconds: int | None
) -> None:
    (shown,) = (row for row in with_keys("incidents") if row["kind"] == kind)
    (claimed,) = without_keys("incidents")
    brackets = [name for name in shown if name.startswith("fault_") and name.endswith("_ns")]
    for column in ("kind", "place", "hosts", *brackets):
        assert claimed[column] == shown[column]
    assert (shown["kind"], shown["place"]) == (kind, place)
    if seconds is not None:
        assert abs(shown["fault_end_ns"] - shown["fault_start_ns"] - seconds * 1_000_000_000) <= 3_000_000_000
        assert claimed["severity"] == shown["severity"] == "error"


def test_encrypted_clients_are_said_to_be_shared_and_their_starts_are_claimed(without_keys: Rows) -> None:
    clients = without_keys("clients")
    assert {row["identity"] for row in clients} == {"shared"}
    assert all(row["identity_why"].startswith("encrypted: one by address") for row in clients)
    assert all(row["claimed"] for table in ("startups", "recoveries") for row in without_keys(table))
    assert without_keys("cadences") == []
