"""Findings about clients in captures of real clusters, against what the lab did there (fixtures/findings/README.md)."""

import pathlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

HERE = {
    "chatty_client",
    "coordinator_loading",
    "evicted_member",
    "fetch_session_churn",
    "idle_reset",
    "in_flight_saturated",
    "leader_skew",
    "missing_topic",
    "not_enough_replicas",
    "offset_reset",
    "oversize_request",
    "rebalance_storm",
    "returns_to_offset",
    "static_member_conflict",
    "throttled",
    "tiny_batches",
}
EXPECTED = {
    "healthy_basic": set(),
    "leader_move": set(),
    "loading": {("coordinator_loading", "worker-2")},
    "thrown_out": {("evicted_member", "loader-3"), ("static_member_conflict", "svc-b-5")},
    "storm": {("rebalance_storm", None), ("evicted_member", "worker-8"), ("evicted_member", "slow-poller")},
    "idle_balancer": {("idle_reset", None)},
    "exits_at_a_record": {("returns_to_offset", None)},
    "limits": {
        ("throttled", "throttled-12"),
        ("throttled", "slowread-27"),
        ("oversize_request", "svc-b-3"),
        ("offset_reset", "svc-a-8"),
        ("not_enough_replicas", "loader-10"),
    },
}
NAMED = {
    "loading": ("fraud-coordi664", "COORDINATOR_LOAD_IN_PROGRESS"),
    "thrown_out": ("session timeout: 6000 ms", "worker-7", "node-1"),
    "storm": ("session timeout: 2000 ms", "the 4000 ms that it allows"),
    "idle_balancer": ("connections of svc-b-5, worker-6, worker-7 (10.77.0.101) to 3 servers",),
    "exits_at_a_record": ("offset 32 of TradeEvents-poison43-1 3 times", "picky-0 (10.88.3.101) began", "(3 times)"),
    "limits": ("went from offset 189 to 349", "never reads 160 records", "6072 to 6073 bytes", "(MESSAGE_TOO_LARGE)"),
}
"""Settings and offsets that the lab gave, which sentences have to name."""
DatasetOf = Callable[[str], pathlib.Path]


@pytest.fixture(scope="module")
def dataset_of(dataset_of: DatasetOf) -> DatasetOf:
    """With what these rules find."""
    return partial(dataset_of, rules=HERE)


def rows(dataset: pathlib.Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(dataset / name).to_pylist()
    return found


def findings(dataset: pathlib.Path) -> list[dict[str, Any]]:
    found = [row for row in rows(dataset, "stories/findings") if row["rule"] in HERE]
    return [row for row in found if row["severity"] != "info"]


@pytest.mark.parametrize("name", EXPECTED)
def test_what_the_lab_did_is_found_and_nothing_else(dataset_of: DatasetOf, name: str) -> None:
    dataset = dataset_of(name)
    clients = {row["client_instance_id"]: row["client_id"] for row in rows(dataset, "stories/clients")}
    found = findings(dataset)
    sentences = [row["sentence"] for row in found]
    assert {(row["rule"], clients.get(row["client_instance_id"])) for row in found} == EXPECTED[name], sentences


@pytest.mark.parametrize("name", NAMED)
def test_sentences_name_the_numbers(dataset_of: DatasetOf, name: str) -> None:
    text = " ".join(row["sentence"] for row in findings(dataset_of(name)))
    assert [part for part in NAMED[name] if part not in text] == [], text


def test_the_rate_that_brokers_allowed_is_the_quota_that_the_lab_had_set(dataset_of: DatasetOf) -> None:
    (held_back,) = (row for row in findings(dataset_of("limits")) if "in Produce" in row["sentence"])
    rate = re.search(r"each broker allows it about (\d+) bytes/s", held_back["sentence"])
    assert rate is not None, held_back["sentence"]
    assert int(rate[1]) == pytest.approx(3000, rel=0.1)
    assert f"producer_byte_rate={2 * int(rate[1])}" in held_back["advice"]


@pytest.mark.parametrize("name", NAMED)
def test_evidence_opens(dataset_of: DatasetOf, name: str) -> None:
    dataset = dataset_of(name)
    requests = {row["request_id"] for row in rows(dataset, "requests")}
    connections = {row["conn_id"] for row in rows(dataset, "connections")}
    for row in findings(dataset):
        assert row["evidence"], row["sentence"]
        assert set(row["evidence"]) <= requests | connections, row["sentence"]
        assert row["conn_ids"], row["sentence"]
        assert set(row["conn_ids"]) <= connections, row["sentence"]
