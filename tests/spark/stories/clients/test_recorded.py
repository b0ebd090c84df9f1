"""Clients of recorded captures, and what they waited for, against what the lab's kernel and the clients' logs say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
NEAR_NS = 500_000_000
DatasetOf = Callable[..., Path]
Row = dict[str, Any]


def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PIECES / f"{name}.truth.json").read_text())
    return found


def rows(dataset: Path, table: str) -> list[Row]:
    found: list[Row] = pq.read_table(dataset / table).to_pylist()
    return found


def clients(dataset: Path) -> list[tuple[str, set[str]]]:
    """Client id and sockets of each client that is not a broker's."""
    addresses = {row["conn_id"]: f"{row['client_ip']}:{row['client_port']}" for row in rows(dataset, "connections")}
    found = rows(dataset, "stories/clients")
    return [(row["client_id"], {addresses[conn_id] for conn_id in row["conn_ids"]}) for row in found]


@pytest.mark.parametrize("name", ["given_up_together", "given_up_bootstrap", "looked_up_twice", "late_copies"])
def test_all_sockets_of_a_process_are_one_client(name: str, dataset_of: DatasetOf) -> None:
    """A librdkafka consumer gives up bootstrap servers that do not respond at once, together or one after the other; or
    looks up its coordinator on two connections, and closes the last one 370 ms after the others.
    What the kernel of a Java producer's host sends of its lost connections comes after it connected again."""
    (process,) = truth(name)["clients"]
    assert clients(dataset_of(name)) == [(process["client_id"], {each["local"] for each in process["sockets"]})]


@pytest.mark.parametrize("name", ["given_up_together", "given_up_bootstrap"])
def test_its_start_begins_with_the_first_bootstrap_server(name: str, dataset_of: DatasetOf) -> None:
    (process,) = truth(name)["clients"]
    (start,) = rows(dataset_of(name), "stories/startups")
    assert abs(start["start_ns"] - min(each["first_seen_ns"] for each in process["sockets"])) < NEAR_NS / 100
    assert start["outcome"] == "ready"


@pytest.mark.lab
def test_a_producer_that_is_stopped_before_it_has_another_record_has_not_failed(dataset_of: DatasetOf) -> None:
    """It sends a record every 7 s to brokers that close what is idle for 4 s, and logged that none failed."""
    (process,) = truth("idle_producer")["clients"]
    assert process["failed"] == 0
    outcomes = [row["outcome"] for row in rows(dataset_of("idle_producer"), "stories/startups")]
    assert (set(outcomes[:-1]), outcomes[-1]) == ({"ready"}, "done")


def test_late_copies_of_requests_are_no_records_that_failed(dataset_of: DatasetOf) -> None:
    """Brokers refuse them 12 s after the producer's records were accepted on other connections. The client logged that
    none of its records failed."""
    found = truth("late_copies")
    assert found["clients"][0]["failed"] == 0
    dataset = dataset_of("late_copies")
    down, up = (event["ts_ns"] for event in found["events"])
    assert all(incident["n_records_failed"] == 0 for incident in rows(dataset, "stories/incidents"))
    stalls = [row for row in rows(dataset, "stories/stalls") if row["kind"] == "produce"]
    assert stalls
    assert all(down - NEAR_NS < row["from_ns"] < up < row["to_ns"] < up + 20 * NEAR_NS for row in stalls)


def test_a_consumer_has_the_records_of_a_response_with_its_last_byte(dataset_of: DatasetOf) -> None:
    """The first bytes came 6.7 s before the last ones, as long packets were lost in between."""
    (received,) = truth("last_byte")["received"]
    files = (dataset_of("last_byte") / "events").rglob("*.parquet")
    events = [event for file in files for event in pq.ParquetFile(file).read().to_pylist()]
    runs = [event["fetch_run"] for event in events if event.get("fetch_run") is not None]
    (run,) = (each for each in runs if each["partition"] == received["partition"])
    assert run["first_offset"] == received["offset"]
    assert abs(run["first_ns"] - received["ts_ns"]) < NEAR_NS
