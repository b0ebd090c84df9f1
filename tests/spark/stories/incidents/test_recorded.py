"""Incidents of a real capture, against what was done to the brokers: two were stopped in order and started again."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

SERVICE = Path(__file__).parents[4] / "fixtures" / "service"
MS = 1_000_000

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def stopped():
    """When each node got SIGTERM, and when its process had ended."""
    events = json.loads((SERVICE / "restarts_in_turn.truth.json").read_text())["events"]
    began = {e["node_id"]: e["ts_ns"] for e in events if e["kind"] == "broker_stopping"}
    return {e["node_id"]: (began[e["node_id"]], e["ts_ns"]) for e in events if e["kind"] == "broker_down"}


def rows(dataset_of, table):
    return pq.read_table(dataset_of("restarts_in_turn") / "stories" / table).to_pylist()


def test_each_restart_is_one_incident_from_its_first_refusal_on(dataset_of, stopped):
    incidents = sorted(rows(dataset_of, "incidents"), key=lambda i: i["start_ns"])
    assert [(i["kind"], i["node_id"]) for i in incidents if i["severity"] != "info"] == [
        ("broker_down", node) for node in stopped
    ]
    for incident in incidents:
        if incident["kind"] == "broker_down":
            stopping_ns, _ = stopped[incident["node_id"]]
            assert 0 <= incident["start_ns"] - stopping_ns < 300 * MS
            assert "shut down from" in incident["sentence"]


def test_what_waits_during_the_handover_belongs_to_the_broker_that_shuts_down(dataset_of, stopped):
    """Node 103 hands over the group's coordinator and its leaders a moment before node 102 serves clients again."""
    node_of = {i["incident_id"]: i["node_id"] for i in rows(dataset_of, "incidents")}
    found = dict.fromkeys(stopped, 0)
    for stall in rows(dataset_of, "stalls"):
        node = node_of[stall["incident_id"]]
        stopping_ns, ended_ns = stopped[node]
        assert stopping_ns < stall["from_ns"] < ended_ns
        found[node] += 1
    assert all(found.values())
