"""Clients whose processes were stopped and continued (SIGSTOP, SIGCONT), against what the lab did to them."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

SERVICE = Path(__file__).parents[4] / "fixtures" / "service"
PIECES = SERVICE.parent / "captures" / "pieces"
NEAR_NS = 1_500_000_000
Row = dict[str, Any]


def of_clients(dataset: Path) -> list[Row]:
    rows: list[Row] = pq.read_table(dataset / "stories" / "incidents").to_pylist()
    return [row for row in rows if row["kind"] == "client"]


@pytest.mark.parametrize("name", ["paused_clients", "member_evicted"])
def test_stopped_processes_are_one_incident(name, dataset_of):
    """paused_clients: one alone in its group, and one of a group of KIP-848 whose other member goes on."""
    truth = json.loads((SERVICE / f"{name}.truth.json").read_text())
    ids = {client["name"]: client["client_id"] for client in truth["clients"]}
    stopped = {ids[event["client"]] for event in truth["events"] if event["kind"] == "client_paused"}
    begin, end = (
        min(event["ts_ns"] for event in truth["events"] if event["kind"] == kind)
        for kind in ("client_paused", "client_resumed")
    )
    (incident,) = of_clients(dataset_of(name))
    named = {word for word in incident["subject"].replace(",", "").split() if not word.startswith("(")}
    assert named == stopped
    assert abs(incident["start_ns"] - begin) < NEAR_NS
    assert incident["end_ns"] > end
    stalls = pq.read_table(dataset_of(name) / "stories" / "stalls").to_pylist()
    during = [s for s in stalls if s["from_ns"] < end and (s["to_ns"] or end) > begin + NEAR_NS]
    assert during
    assert {s["incident_id"] for s in during} == {incident["incident_id"]}


@pytest.mark.parametrize("name", ["paused_producer", "paused_consumer"])
def test_processes_that_stand_still_for_a_few_seconds_are_found(name, dataset_of):
    """Stopped four times, for 2.5 to 4 s: no heartbeat of the consumer is overdue the first three times. Its stalls
    belong to these incidents; records of the producer wait for nothing, as its application stands still too."""
    truth = json.loads((SERVICE / f"{name}.truth.json").read_text())
    stopped, continued = (
        [event["ts_ns"] for event in truth["events"] if event["kind"] == kind]
        for kind in ("client_paused", "client_resumed")
    )
    (incident,) = of_clients(dataset_of(name))
    assert truth["clients"][0]["client_id"] in incident["subject"]
    assert "was paused 4 times" in incident["sentence"]
    assert incident["fault_start_after_ns"] - NEAR_NS / 3 < stopped[0] < incident["fault_start_ns"]
    assert incident["fault_end_after_ns"] < continued[-1] < incident["fault_end_ns"]


@pytest.mark.parametrize(
    "name", ["lingering_producer", "healthy_basic", "leader_move", "frozen_broker", "txn", "named_brokers"]
)
def test_other_clients_are_not_paused(name, dataset_of):
    """One that collects records for 1.5 s before it sends them, healthy ones, and those of a broker that was killed or
    stopped."""
    assert of_clients(dataset_of(name)) == []


def test_a_process_that_reads_nothing_of_what_comes_is_found(dataset_of):
    """A consumer without a group is stopped while it reads a backlog: no heartbeat is due, and two windows close."""
    paused, resumed = json.loads((PIECES / "unread.truth.json").read_text())["events"]
    (incident,) = of_clients(dataset_of("unread"))
    assert incident["subject"] == f"{paused['detail']['client_id']} ({paused['detail']['ip']})"
    assert incident["severity"] == "error"
    assert incident["fault_start_after_ns"] <= paused["ts_ns"] <= incident["fault_start_ns"]
    assert incident["fault_end_after_ns"] <= resumed["ts_ns"] <= incident["fault_end_ns"]
    assert "did not read what brokers sent" in incident["sentence"]


@pytest.mark.parametrize("kind", ["held_transaction", "late_retry", "queued_requests"])
def test_what_a_client_did_itself_is_no_failure_of_a_broker(kind: str, dataset_of) -> None:
    """The only incident above severity info is that of the client which the truth names, at the time that it says."""
    events = json.loads((PIECES / f"{kind}.truth.json").read_text())["events"]
    rows = pq.read_table(dataset_of(kind) / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["severity"] != "info")
    assert (row["kind"], row["place"]) == (kind, "client")
    assert row["subject"].startswith(events[0]["detail"]["client_id"])
    assert abs(row["start_ns"] - events[0]["ts_ns"]) < NEAR_NS
    assert row["longest_ms"] >= 1_000
    if len(events) > 1:
        assert row["end_ns"] < events[-1]["ts_ns"] + NEAR_NS
    else:
        longest_ms = events[0]["detail"]["longest_ms"]
        assert row["longest_ms"] == pytest.approx(longest_ms, rel=0.01)
        (broker_ms,) = map(int, re.findall(r"broker itself took at most (\d+) ms", row["sentence"]))
        assert broker_ms == pytest.approx(events[0]["detail"]["broker_longest_ms"], rel=0.05)
