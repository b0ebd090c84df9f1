"""Findings in captures of real clusters, against what the lab did there (fixtures/findings/README.md, truth files)."""

import json
import pathlib
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkascope_spark.write_stories import write_stories

pytestmark = pytest.mark.spark

FIXTURES = pathlib.Path(__file__).parents[4] / "fixtures"
CAPTURES = FIXTURES / "captures"
SECOND = 1_000_000_000
EXPECTED = {
    "healthy_basic": set(),
    "mid_stream-any": set(),
    "txn": {
        ("fenced_producer", "loader-1"),
        ("hanging_transaction", "order-api-8"),
        ("stuck_consumer", "loader-4"),
        ("stuck_consumer", "svc-a-5-consumer"),
    },
    "leader_move": {("broker_lost", None)},
    "misadvertised": {("advertised_unreachable", c) for c in ("loader-4", "indexer-6", "svc-a-8")},
    "refused_entry": {("auth_failed", c) for c in ("loader-6", "loader-7", "worker-9", "order-api-10", "svc-a-4")},
    "other_protocol": {("wrong_protocol", c) for c in ("worker-6", None)},
    "shared_vip": {("shared_vip", c) for c in ("worker-2", "worker-5", "loader-4")},
    "lost_offsets": {("lost_offsets", "indexer-5"), ("capture_untrustworthy", None)},
    "old_versions": {("old_versions", c) for c in ("svc-b-1", "indexer-3", "order-api-4", "indexer-8")},
    "frozen_broker": {("broker_lost", None)},
    "restarts_in_turn": {("broker_lost", None), ("capture_untrustworthy", None)},
    "member_evicted": {("evicted_member", "svc-a-3")},
    "paused_clients": {("evicted_member", "loader-3"), ("evicted_member", "svc-b-5")},
}
"""Capture -> the only rules that find something there above severity info, with the client that they name. Every rule
that is registered is asked of each capture."""
CAUSES = {
    "leader_move": ("broker_killed", "broker_lost"),
    "frozen_broker": ("broker_frozen", "broker_lost"),
    "restarts_in_turn": ("broker_stopping", "broker_lost"),
    "member_evicted": ("client_paused", "evicted_member"),
    "paused_clients": ("client_paused", "evicted_member"),
}
"""Capture -> what the lab did to a broker or to a client's process, and the rule that finds the consequence."""
ELSEWHEN = {"capture_untrustworthy", "evicted_member"}
"""Rules whose findings have other times than the connections they name: that of the capture, and that of the group."""
DatasetOf = Callable[[str], pathlib.Path]


@pytest.fixture(scope="module")
def dataset_of(dataset_of: DatasetOf) -> DatasetOf:
    """With what every registered rule finds."""
    return partial(dataset_of, rules=None)


def rows(dataset: pathlib.Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(dataset / name).to_pylist()
    return found


def findings(dataset: pathlib.Path) -> list[dict[str, Any]]:
    return rows(dataset, "stories/findings")


@pytest.mark.parametrize("name", EXPECTED)
def test_what_the_lab_did_is_found_and_nothing_else(dataset_of: DatasetOf, name: str) -> None:
    dataset = dataset_of(name)
    clients = {row["client_instance_id"]: row["client_id"] for row in rows(dataset, "stories/clients")}
    loud = [row for row in findings(dataset) if row["severity"] != "info"]
    assert {(row["rule"], clients.get(row["client_instance_id"])) for row in loud} == EXPECTED[name], [
        row["sentence"] for row in loud
    ]


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if expected])
def test_evidence_opens(dataset_of: DatasetOf, name: str) -> None:
    dataset = dataset_of(name)
    requests = {row["request_id"] for row in rows(dataset, "requests")}
    connections = {row["conn_id"]: row for row in rows(dataset, "connections")}
    for row in findings(dataset):
        if row["severity"] == "info":
            continue
        assert row["evidence"], row["sentence"]
        assert [one for one in row["evidence"] if one not in requests and one not in connections] == []
        assert row["conn_ids"]
        assert [one for one in row["conn_ids"] if one not in connections] == []
        spans = [(connections[c]["first_ns"], connections[c]["last_ns"]) for c in row["conn_ids"]]
        if row["rule"] not in ELSEWHEN:
            assert min(s[0] for s in spans) <= row["first_ns"] <= max(s[1] for s in spans)


def test_the_lost_broker_is_the_one_that_was_killed(dataset_of: DatasetOf) -> None:
    events = json.loads((CAPTURES / "leader_move.truth.json").read_text())["events"]
    killed = next(e for e in events if e["kind"] == "broker_killed")
    (lost,) = [row for row in findings(dataset_of("leader_move")) if row["rule"] == "broker_lost"]
    assert lost["subject"].startswith(f"node {killed['detail']['node_id']} (")
    assert abs(lost["first_ns"] - killed["ts_ns"]) < SECOND / 10
    assert lost["sentence"].endswith(" It affected 8 clients and brokers"), "six and two"
    assert "stalled" not in lost["sentence"]


@pytest.mark.parametrize("name", CAUSES)
def test_a_finding_names_the_incident_that_the_lab_brought_about(dataset_of: DatasetOf, name: str) -> None:
    done, rule = CAUSES[name]
    truth = json.loads(next(FIXTURES.glob(f"*/{name}.truth.json")).read_text())
    events = [event | event.get("detail", {}) for event in truth["events"] if event["kind"] == done]
    incidents = {row["incident_id"]: row for row in rows(dataset_of(name), "stories/incidents")}
    found = [row for row in rows(dataset_of(name), "stories/findings") if row["rule"] == rule]

    def is_cause(finding: dict[str, Any], event: dict[str, Any]) -> bool:
        incident = incidents[finding["incident_id"]]
        is_near = abs(incident["start_ns"] - event["ts_ns"]) < SECOND / 5
        return is_near and incident["node_id"] == event.get("node_id") and incident["root_incident_id"] is None

    assert len(found) == len(events)
    for finding in found:
        assert any(is_cause(finding, event) for event in events), finding["sentence"]
    for event in events:
        assert any(is_cause(finding, event) for finding in found), event


def test_each_fall_of_a_broker_names_its_own_incident(dataset_of: DatasetOf) -> None:
    """Each broker restarted twice, and then the controller, which serves no client. Nobody stalled because of the
    first three restarts; a stall that belongs to the second one of node 21 lasted until the last one was over."""
    truth = json.loads((CAPTURES / "pieces" / "kraft_migration.truth.json").read_text())
    stopped = [event["node_id"] for event in truth["events"] if event["kind"] == "broker_stopping"]
    dataset = dataset_of("kraft_migration")
    incidents = {row["incident_id"]: row for row in rows(dataset, "stories/incidents")}
    lost = sorted((row for row in findings(dataset) if row["rule"] == "broker_lost"), key=lambda row: row["first_ns"])
    named = [incidents.get(row["incident_id"]) for row in lost]
    assert [incident and incident["node_id"] for incident in named] == [None, None, None, *stopped[3:-1]]
    assert [incident["start_ns"] for incident in named if incident] == [row["first_ns"] for row in lost[3:]]


def test_an_ignored_rule_is_not_asked(dataset_of: DatasetOf, tmp_path: pathlib.Path) -> None:
    dataset = tmp_path / "leader_move.kscope"
    shutil.copytree(dataset_of("leader_move"), dataset)
    assert "broker_lost" in {row["rule"] for row in findings(dataset)}
    write_stories(dataset, ignored=["broker_lost"])
    assert "broker_lost" not in {row["rule"] for row in findings(dataset)}
