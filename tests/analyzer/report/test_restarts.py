"""Restarts of brokers: their order, releases and cost, from rows written by hand and from a recorded capture, whose
truth says when a broker was killed and started again.
"""

import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.stories import BROKER_STATES, CLIENTS, INCIDENTS, STALLS
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, TOPOLOGY
from kafkascope_analyzer.report.model.restarts import load_restarts
from kafkascope_parsers.schema import api_name
from kafkascope_parsers.schema.releases import api_releases

FIXTURES = Path(__file__).parents[3] / "fixtures"
S = 1_000_000_000


def offer(release):
    """What a broker of a release answers to ApiVersions, as `connections` has it."""
    spoken = {key: api.spoken[release] for key, api in api_releases().items() if "broker" in api.listeners}
    return [f"{api_name(key)}:{v.low}-{v.high}" for key, v in spoken.items() if v.low <= v.high]


def connection(second, node, release):
    place = {"server_ip": f"10.0.0.{node}", "server_port": 9092, "node_id": node, "protocol": "kafka"}
    times = {"first_ns": second * S, "last_ns": second * S}
    return {"conn_id": f"c{second}-{node}", **place, **times, "api_versions_offered": offer(release)}


def down(node, begin, end, host="10.0.0.21"):
    place = {"node_id": node, "server_ip": f"10.0.0.{node}", "server_port": 9092, "host": host}
    return {**place, "state": "down", "from_ns": int(begin * S), "to_ns": None if end is None else int(end * S)}


def incident(name, kind, node, begin, end):
    subject = f"node {node} (10.0.0.{node}:9092)" if node else "orders-0"
    row = {"incident_id": name, "kind": kind, "node_id": node, "subject": subject, "severity": "info"}
    row["family_severity"] = row["severity"]
    return {**row, "start_ns": int(begin * S), "end_ns": int(end * S), "clients": []}


def stall(client, name, node, begin, seconds):
    row = {"stall_id": f"{client}-{begin}", "kind": "produce", "client_instance_id": client, "client_id": client}
    row |= {"incident_id": name, "node_id": node, "from_ns": int(begin * S), "to_ns": int((begin + seconds) * S)}
    return {**row, "waited_ms": int(seconds * 1000), "error_names": [], "n_attempts": 1}


def leader(second, partition, node, epoch):
    row = {"kind": "leader", "topic": "orders", "partition": partition, "node_id": node, "leader_epoch": epoch}
    return {**row, "ts_ns": int(second * S), "request_id": f"r{second}-{partition}"}


@pytest.fixture
def made(tmp_path):
    def make(**tables):
        place = tmp_path / "made.kscope"
        tables.setdefault("captures", [{"path": "x.pcap", "n_packets": 9, "first_ns": 0, "last_ns": 60 * S}])
        for table in (CAPTURES, CONNECTIONS, TOPOLOGY, INCIDENTS, STALLS, BROKER_STATES, CLIENTS):
            name = table.name.removeprefix("stories/")
            if name not in tables and table in (INCIDENTS, STALLS, BROKER_STATES, CLIENTS) and "stories" in tables:
                continue
            folder = place / ("stories" if table in (INCIDENTS, STALLS, BROKER_STATES, CLIENTS) else "") / name
            folder.mkdir(parents=True)
            schema = pa.schema([field.with_nullable(True) for field in table.schema])
            pq.write_table(pa.Table.from_pylist(tables.get(name, []), schema), folder / "part-0.parquet")
        (place / MANIFEST).write_text(Manifest(written_files(place), {"stream_bytes": 1}).to_json())
        return place

    return make


@pytest.fixture
def upgraded(made):
    """Nodes 1 and 2 are restarted with a newer release: 1 after its leader has moved away, 2 without."""
    return made(
        connections=[connection(second, node, release) for second, node, release in (
            (1, 1, "3.9"), (1, 2, "3.9"), (14, 1, "4.0"), (34, 2, "4.0"), (1, 3, "3.9"))],
        topology=[leader(0, 0, 1, 0), leader(9, 0, 3, 1), leader(16, 0, 1, 2)],
        incidents=[
            incident("down-1", "broker_down", 1, 10, 14),
            incident("moved-1", "leader_move", None, 9.1, 9.4),
            incident("back-1", "leader_move", None, 16.2, 18),
            incident("down-2", "broker_down", 2, 30, 42),
            incident("other", "leader_move", None, 50, 52),
        ],
        broker_states=[down(1, 10, 14), down(1, 10, 20, "10.0.0.22"), down(2, 30, 34)],
        stalls=[
            stall("late", "back-1", 3, 16.2, 1.8),
            stall("svc", "down-2", 2, 30, 12),
            stall("svc2", "down-2", 2, 31, 4),
            stall("away", "other", 3, 50, 2),
        ],
    )  # fmt: skip


def test_restarts_are_in_their_order_with_releases_and_with_who_waited(upgraded):
    found = load_restarts(Dataset.open(upgraded))
    assert found.sentence == "Brokers went down 2 times, in the order 1, 2; 2 restarts changed the release."
    first, second = found.listed
    assert (first.node_id, first.begin_ns, first.down_ns, first.back_ns) == (1, 9 * S, 10 * S, 14 * S)
    assert (first.release, first.is_upgrade) == ("Kafka 3.9 → 4.0", True)
    assert (first.cost, first.incident_ids) == ("late for 1.80 s", ("down-1", "back-1"))
    assert (second.node_id, second.begin_ns, second.back_ns) == (2, 30 * S, 34 * S)
    assert (second.cost, second.n_stalls) == ("2 clients, longest 12.0 s (svc)", 2)


def test_what_waited_at_the_broker_meanwhile_is_its_cost(made):
    place = made(
        incidents=[incident("down-1", "broker_down", 1, 10, 14), incident("why", "unexplained", None, 11, 13)],
        broker_states=[down(1, 10, 14)],
        stalls=[stall("svc", "why", 1, 11, 2), stall("other", "why", 2, 11, 2), stall("before", "why", 1, 5, 2)],
    )
    (restart,) = load_restarts(Dataset.open(place)).listed
    assert (restart.cost, restart.incident_ids) == ("svc for 2.00 s", ("down-1", "why"))


def test_a_stall_is_the_cost_of_one_restart(made):
    place = made(
        incidents=[incident("down-1", "broker_down", 1, 10, 14), incident("down-2", "broker_down", 2, 12, 15)],
        broker_states=[down(1, 10, 14), down(2, 12, 15)],
        stalls=[stall("svc", "down-1", 2, 12.5, 2)],
    )
    assert [row.n_stalls for row in load_restarts(Dataset.open(place)).listed] == [1, 0]


def test_a_broker_that_does_not_come_back_and_nobody_who_waits(made):
    place = made(incidents=[incident("down-1", "broker_down", 1, 10, 14)], broker_states=[down(1, 10, None)])
    found = load_restarts(Dataset.open(place))
    (restart,) = found.listed
    assert (restart.back_ns, restart.lasted, restart.release) == (None, "not back", "not known")
    assert restart.cost == "nobody waited 1 s or longer"
    assert found.sentence == "Node 1 went down once."


def test_a_release_that_changes_shows_a_restart_that_nobody_noticed(made):
    rows = [connection(1, 1, "3.9"), connection(20, 1, "4.0")]
    (restart,) = load_restarts(Dataset.open(made(connections=rows))).listed
    assert (restart.down_ns, restart.back_ns, restart.release) == (1 * S, 20 * S, "Kafka 3.9 → 4.0")
    assert restart.cost == "nobody waited 1 s or longer"


def test_without_stories_the_cost_is_not_known(made):
    rows = [connection(1, 1, "3.9"), connection(20, 1, "4.0")]
    place = made(connections=rows, stories=False)
    found = load_restarts(Dataset.open(place))
    (restart,) = found.listed
    assert (found.present, restart.n_stalls, restart.cost) == (False, None, "not known without stories")
    assert "kafkascope stories" in found.why_not


def test_a_broker_that_was_killed_and_started_again(tmp_path):
    with tarfile.open(FIXTURES / "datasets" / "leader_move.kscope.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    events = json.loads((FIXTURES / "captures" / "leader_move.truth.json").read_text())["events"]
    at = {event["kind"]: event["ts_ns"] for event in events if event["detail"].get("node_id") == 3}
    (restart,) = load_restarts(Dataset.open(tmp_path / "leader_move.kscope")).listed
    assert (restart.node_id, restart.is_upgrade) == (3, False)
    assert abs(restart.begin_ns - at["broker_killed"]) < S // 10
    assert at["broker_starting"] < restart.back_ns


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
