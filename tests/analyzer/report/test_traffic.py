"""Latency by broker, leaders' load, clients' traffic and removed versions, against rows whose figures are worked out by
hand.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.broker_latency import broker_latency
from kafkascope_analyzer.report.model.client_traffic import client_traffic
from kafkascope_analyzer.report.model.leader_load import leader_load
from kafkascope_analyzer.report.model.removed_versions import removed_versions
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render
from kafkascope_analyzer.sql.database import Database

Write = Callable[..., Path]


def section(make: Callable[[Database], Any], place: Path) -> Any:
    """A section of the report as report.json has it."""
    with report_tables(Dataset.open(place)) as database:
        return plain(make(database))


@pytest.fixture
def with_requests(dataset: Write, small: ModuleType) -> Callable[[list[dict[str, Any]]], Path]:
    place = dataset()

    def write(rows: list[dict[str, Any]]) -> Path:
        small.write_table(place, small.TABLES["requests"], rows)
        return place

    return write


def produce(small: ModuleType, number: int, node_id: int | None, latency_us: int, **more: Any) -> dict[str, Any]:
    """A Produce of 10 records in 2 partitions, 1000 bytes: its bytes took 30 µs on the way, the answer's 20 µs."""
    sent = small.at(number)
    row = small.request("c1", number, small.PRODUCE, number, node_id=node_id, client_ip="10.0.0.101", client_id="svc")
    row |= {
        "latency_us": latency_us,
        "broker_us": latency_us,
        "request_last_ns": sent + 30_000,
        "response_ns": sent + 30_000 + 1000 * latency_us,
    }
    row |= {"response_last_ns": row["response_ns"] + 20_000, "acks": -1, "n_records": 10, "record_bytes": 1000}
    return {**row, "n_partitions": 2, "server_ip": "10.0.0.11", "server_port": 9092, **more}


def test_latency_is_told_apart_by_broker_and_by_whose_time_it_was(with_requests, small: ModuleType) -> None:
    rows = [produce(small, n, 1, 100 * (n + 1)) for n in range(9)] + [produce(small, 20, 2, 50_000)]
    rows += [produce(small, 30, None, 7), produce(small, 31, 1, 0) | {"latency_us": None, "broker_us": None}]
    found = section(broker_latency, (with_requests(rows)))
    result = {(row["node_id"], row["address"]): row for row in found["listed"]}
    assert set(result) == {(1, None), (2, None), (None, "10.0.0.11:9092")}
    first = result[1, None]
    assert (first["n"], first["max_us"], first["network_p50_us"], first["network_p99_us"]) == (9, 900, 50, 50)
    assert 496 <= first["broker_p50_us"] <= 500
    assert 893 <= first["broker_p99_us"] <= 900
    assert result[2, None]["broker_p50_us"] >= 49_600


def test_the_wait_for_the_response_before_it_is_not_the_brokers_time(with_requests, small: ModuleType) -> None:
    """OffsetCommit behind a Fetch that the broker holds back for 500 ms."""
    fetches = [produce(small, n, 1, 500_000, api_name="Fetch") for n in range(5)]
    commits = [
        produce(small, 20 + n, 1, 496_000, api_name="OffsetCommit") | {"queued_us": 495_000, "broker_us": 1_000}
        for n in range(5)
    ]
    database = with_requests(fetches + commits)
    found = {row["api_name"]: row for row in section(broker_latency, database)["listed"]}
    assert 992 <= found["OffsetCommit"]["broker_p50_us"] <= found["OffsetCommit"]["max_us"] == 1_000
    assert 491_000 <= found["OffsetCommit"]["queued_p50_us"] <= found["OffsetCommit"]["queued_p99_us"] <= 495_000
    assert found["Fetch"]["max_us"] == 500_000
    assert found["Fetch"]["queued_p99_us"] == 0


def test_round_trips_are_the_handshakes_of_each_broker(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    conns = [small.connection(f"h{n}", 41000 + n, 1 + n % 2, n, handshake_us=100 * (n + 1)) for n in range(6)]
    small.write_table(place, small.TABLES["connections"], conns)
    trips = section(broker_latency, (place))["brokers"]
    assert [(row["node_id"], row["n_handshakes"], row["round_trip_p50_us"]) for row in trips] == [
        (1, 3, 300),
        (2, 3, 400),
    ]


def test_leaders_share_of_the_load(with_requests, small: ModuleType) -> None:
    rows = [produce(small, n, 1, 10) for n in range(3)] + [produce(small, 9, 2, 10)]
    rows.append(produce(small, 10, 2, 10, api_key=1, api_name="Fetch", replica_id=3))  # a follower's is no client's
    found = section(leader_load, (with_requests(rows)))
    assert [(row["node_id"], row["produce_bytes"], row["n_fetch"]) for row in found["listed"]] == [
        (1, 3000, 0),
        (2, 1000, 0),
    ]
    assert found["skew"] == 1.5
    assert [row["n_partitions"] for row in found["listed"]] == [6, 0]


def test_one_leader_has_no_skew(with_requests, small: ModuleType) -> None:
    assert section(leader_load, (with_requests([produce(small, 1, 1, 10)])))["skew"] is None


def test_how_clients_send_and_fetch(with_requests, small: ModuleType) -> None:
    fetch = {"api_key": 1, "api_name": "Fetch", "client_id": "reader", "acks": None, "max_wait_ms": 500, "min_bytes": 1}
    rows = [produce(small, n, 1, 10, acks=1 if n else -1) for n in range(4)]
    rows += [
        produce(small, 10 + n, 1, 10, **fetch, n_records=0 if n else 40, record_bytes=0 if n else 900) for n in range(5)
    ]
    rows += [produce(small, 20 + n, 1, 10, api_key=3, api_name="Metadata", acks=None, n_records=None) for n in range(6)]
    found = section(client_traffic, (with_requests(rows)))
    by_name = {row["client_id"]: row for row in found["listed"]}
    sent, got = by_name["svc"]["produce"], by_name["reader"]["fetch"]
    assert (sent["n"], sent["n_records"], sent["records_a_request"], sent["bytes_a_batch"]) == (4, 40, 10.0, 500)
    assert sent["acks"] == {"-1": 1, "1": 3}
    assert (got["n"], got["n_empty"], got["records_a_request"], got["bytes_a_request"]) == (5, 4, 8.0, 180)
    assert (got["max_wait_ms"], got["min_bytes"]) == (500, 1)
    assert by_name["svc"]["requests_a_record"] == 0.25
    assert by_name["svc"]["fetch"] is None
    assert found["codecs_known"] is False


def test_compression_is_known_where_batches_were_read(with_requests, small: ModuleType) -> None:
    place = with_requests([produce(small, 1, 1, 10)])
    small.write_table(place, small.TABLES["connections"], [small.connection("c1", 40001, 1, 10, client_ids=["svc"])])
    batch = {"conn_id": "c1", "api_key": 0, "bytes": 500}
    batches = [{**batch, "codec": "lz4"}, {**batch, "codec": "none"}, {**batch, "codec": "lz4"}]
    batches += [{**batch, "api_key": 1, "codec": "gzip"}, {**batch, "codec": "none", "control": "commit"}]
    small.write_table(place, small.TABLES["record_batches"], batches)
    found = section(client_traffic, (place))
    assert found["codecs_known"] is True
    assert found["listed"][0]["produce"]["codecs"] == {"lz4": 2, "none": 1}


@pytest.mark.parametrize(
    ("api", "gone"),
    [
        ((1, "Fetch", 3), True),
        ((1, "Fetch", 4), False),
        ((8, "OffsetCommit", 1), True),
        ((8, "OffsetCommit", 2), False),
        ((11, "JoinGroup", 0), False),
        ((18, "ApiVersions", 0), False),
        ((4, "LeaderAndIsr", 5), True),
    ],
)
def test_what_kip_896_removed(with_requests, small: ModuleType, api: tuple[int, str, int], gone: bool) -> None:
    """KIP-896 lists Fetch v0-v3, OffsetCommit v0-v1, of JoinGroup none; LeaderAndIsr went with ZooKeeper."""
    rows = [small.request("c1", n, api, n, client_ip="10.0.0.101", client_id="old") for n in range(3)]
    found = section(removed_versions, (with_requests(rows)))
    assert (found["n"], found["n_requests"]) == ((1, 3) if gone else (0, 0))
    if gone:
        (use,) = found["listed"]
        assert (use["client_id"], use["api_version"], use["n"]) == ("old", api[2], 3)
        assert use["lowest_in_4_0"] == {1: 4, 8: 2, 4: None}[api[0]]


def test_the_terminal_shows_the_figures(with_requests, small: ModuleType) -> None:
    rows = [produce(small, n, 1 + n % 2, 400) for n in range(10)]
    rows.append(small.request("c1", 50, (1, "Fetch", 2), 50, client_ip="10.0.0.101", client_id="old"))
    page = page_of(render(report_model(Dataset.open(with_requests(rows))), everything=True), 80, ascii_only=False)
    for said in (
        "Latency by API and broker",
        "Produce  node 1",
        "What the leaders carry",
        "the most loaded one carries 1.00 times an even share",
        "svc             10      100       10.0  500 B  all   not read",
        "What Kafka 4.0 would refuse (1 request)",
        "unknown   Fetch       v2        v4         1",
    ):
        assert said in page, page
