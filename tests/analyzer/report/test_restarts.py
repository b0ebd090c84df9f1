"""Restarts of brokers as reports show them, from rows written by hand and from a recorded capture, whose truth says
when a broker was killed and started again.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, TOPOLOGY
from kafkascope_analyzer.report.missing_stories import NO_STORIES, OLD_STORIES
from kafkascope_analyzer.report.model.restarts import load_restarts
from kafkascope_spark.stories.tables import BROKER_RESTARTS, CLIENTS, STALLS

FIXTURES = Path(__file__).parents[3] / "fixtures"
S = 1_000_000_000


def restart(node, down, back, **more):
    row = {"node_id": node, "subject": f"node {node} (10.0.0.{node}:9092)", "begin_ns": down * S, "down_ns": down * S}
    row |= {"back_ns": None if back is None else back * S, "other_incidents": [], "clients": [], "stalls": []}
    return {**row, "is_over": True, **more}


def upgrade(before, after, mode_before="KRaft", mode_after="KRaft"):
    return {"release_before": before, "release_after": after, "mode_before": mode_before, "mode_after": mode_after}


def stall(client, begin, seconds):
    row = {"stall_id": f"{client}-{begin}", "kind": "produce", "client_instance_id": client, "client_id": client}
    row |= {"from_ns": int(begin * S), "to_ns": int((begin + seconds) * S), "waited_ms": int(seconds * 1000)}
    return {**row, "error_names": [], "n_attempts": 1}


def leader(second, node, epoch):
    row = {"kind": "leader", "topic": "orders", "partition": 0, "node_id": node, "leader_epoch": epoch}
    return {**row, "ts_ns": second * S, "request_id": f"r{second}"}


@pytest.fixture
def made(tmp_path):
    def make(*tables, **rows):
        place = tmp_path / "made.kscope"
        rows["captures"] = [{"path": "x.pcap", "n_packets": 9, "first_ns": 0, "last_ns": 60 * S}]
        for table in (CAPTURES, CONNECTIONS, TOPOLOGY, *tables):
            folder = place / table.stored_as
            folder.mkdir(parents=True)
            schema = pa.schema([field.with_nullable(True) for field in table.schema])
            pq.write_table(pa.Table.from_pylist(rows.get(table.name, []), schema), folder / "part-0.parquet")
        (place / MANIFEST).write_text(Manifest(written_files(place), {"stream_bytes": 1}).to_json())
        return place

    return make


@pytest.fixture
def upgraded(made):
    """Nodes 1 and 2 are restarted with a newer release."""
    newer = upgrade("3.9", "4.0")
    late = {"incident_id": "down-1", "other_incidents": ["back-1"], "stalls": ["late-16"], "longest_ms": 1800}
    both = {"incident_id": "down-2", "stalls": ["svc-30", "svc2-31"], "longest_ms": 12_000}
    return made(
        BROKER_RESTARTS,
        CLIENTS,
        STALLS,
        broker_restarts=[restart(2, 30, 34, **newer, **both), restart(1, 10, 14, **newer, **late)],
        topology=[leader(0, 1, 0), leader(9, 3, 1), leader(16, 1, 2)],
        connections=[{"conn_id": "c1", "protocol": "kafka", "first_ns": 0, "last_ns": 9 * S}],
        stalls=[stall("late", 16, 1.8), stall("svc", 30, 12), stall("svc2", 31, 4)],
    )


def test_restarts_are_in_their_order_with_releases_and_with_who_waited(upgraded):
    found = load_restarts(Dataset.open(upgraded))
    assert found.sentence == "Brokers went down 2 times, in the order 1, 2; 2 restarts changed the release."
    first, second = found.listed
    assert (first.node_id, first.at, first.lasted) == (1, "00:10.000", "4.00 s")
    assert (first.release, first.is_upgrade) == ("Kafka 3.9 → 4.0", True)
    assert (first.cost, first.incident_ids) == ("late for 1.80 s", ("down-1", "back-1"))
    assert (second.cost, second.n_stalls) == ("2 clients, longest 12.0 s (svc)", 2)


def test_a_broker_that_does_not_come_back_and_nobody_who_waits(made):
    found = load_restarts(Dataset.open(made(BROKER_RESTARTS, CLIENTS, STALLS, broker_restarts=[restart(1, 10, None)])))
    (row,) = found.listed
    assert (row.back_ns, row.lasted, row.release) == (None, "not back", "not known")
    assert row.cost == "nobody waited 1 s or longer"
    assert found.sentence == "Node 1 went down once."


def test_a_broker_that_came_back_in_kraft_mode_while_somebody_waited(made):
    waiting = {"stalls": ["svc-11"], "longest_ms": 49_000, "is_over": False}
    row = restart(1, 10, 14, **upgrade("3.9", "3.9", "ZooKeeper"), **waiting)
    rows = {"broker_restarts": [row], "stalls": [stall("svc", 11, 49) | {"to_ns": None}]}
    (row,) = load_restarts(Dataset.open(made(BROKER_RESTARTS, CLIENTS, STALLS, **rows))).listed
    assert row.release == "Kafka 3.9, ZooKeeper → KRaft"
    assert row.cost == "svc for 49.0 s, not over when the capture ended"


@pytest.mark.parametrize(("tables", "why_not"), [((), NO_STORIES), ((CLIENTS, STALLS), OLD_STORIES)])
def test_without_the_table_it_is_said_why(made, tables, why_not):
    found = load_restarts(Dataset.open(made(*tables)))
    assert (found.present, found.why_not, found.listed) == (False, why_not, ())


def test_a_broker_that_was_killed_and_started_again(told_leader_move):
    events = json.loads((FIXTURES / "captures" / "leader_move.truth.json").read_text())["events"]
    at = {event["kind"]: event["ts_ns"] for event in events if event["detail"].get("node_id") == 3}
    (row,) = load_restarts(Dataset.open(told_leader_move)).listed
    assert (row.node_id, row.is_upgrade) == (3, False)
    assert abs(row.begin_ns - at["broker_killed"]) < S // 10
    assert at["broker_starting"] < row.back_ns


def test_the_command_shows_restarts_alone_and_among_the_rest(upgraded):
    alone = CliRunner().invoke(app, ["topology", str(upgraded), "--upgrades", "--format", "plain"])
    assert alone.exit_code == 0
    assert "node 2  00:30.000  4.00 s  Kafka 3.9 > 4.0  2 clients, longest 12.0 s (svc)" in alone.output
    assert "What moved" not in alone.output
    assert max(len(line) for line in alone.output.splitlines()) <= 80
    everything = CliRunner().invoke(app, ["topology", str(upgraded), "--format", "plain"])
    assert "Restarts of brokers (2)" in everything.output
    assert "What moved" in everything.output
    model = json.loads(CliRunner().invoke(app, ["topology", str(upgraded), "--upgrades", "--format", "json"]).output)
    assert [row["node_id"] for row in model["restarts"]["listed"]] == [1, 2]


def test_upgrades_are_of_the_whole_capture(upgraded):
    result = CliRunner().invoke(app, ["topology", str(upgraded), "--upgrades", "--at", "+6s"])
    assert result.exit_code == 2
    assert "leave --at out" in result.output
