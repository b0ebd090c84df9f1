"""States of real brokers against what was done to them (the captures' truth)."""

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.keyed import Keyed, Origin
from kafkascope_spark.stories.servers.machine import Server
from kafkascope_spark.stories.servers.table import BrokerState

CAPTURES = Path(__file__).parents[4] / "fixtures" / "captures"
ORDER = ("key", "section", "ts_ns", "rank", "packet_no", "conn_id", "seq")
NEAR_NS = 1_500_000_000
CLOCKS_NS = 500_000_000
"""The lab writes down when it gave a command, and not when the kernel did what it says."""


@pytest.fixture
def states_of(ingested):
    """The rows of a capture, by the machine alone."""
    return lambda name: states_in(ingested(next((CAPTURES / name).parent.glob(f"{Path(name).name}.pcap*.zst"))))


def states_in(dataset: Path) -> list[BrokerState]:
    table = Dataset.open(dataset).read("events")
    rows = table.filter(pc.equal(table["key_kind"], "server")).to_pylist()
    captures = pq.read_table(dataset / "captures")
    covered = [(pc.min(captures["first_ns"]).as_py(), pc.max(captures["last_ns"]).as_py())]
    servers = Keyed("server", lambda _: Server(covered), FailedParts())
    in_order = groupby(sorted(rows, key=itemgetter(*ORDER)), key=itemgetter("key"))
    states = [state for key, of_key in in_order for state in servers.feed(key, map(event_of, of_key))]
    return [*states, *servers.finish()]


def event_of(row: dict[str, Any]) -> tuple[Origin, Any]:
    """The event as an object, and when and where it was."""
    event = EVENT_CLASSES[row["kind"]].of(row[row["kind"]])
    return Origin(*(row.get(name) for name in Origin._fields)), event


def times_of(name: str, *kinds: str) -> list[int]:
    events = json.loads((CAPTURES / f"{name}.truth.json").read_text())["events"]
    return [event["ts_ns"] for event in events if event["kind"] in kinds]


def bad(rows: list[BrokerState]) -> list[BrokerState]:
    return [row for row in rows if row.state not in ("serving", "unknown")]


@pytest.mark.parametrize(
    "name", ["healthy_basic", "named_brokers", "txn", "mid_stream-any", "mid_stream-ng", "mid_stream-snap96"]
)
def test_healthy_brokers_serve(name, states_of):
    rows = states_of(name)
    assert rows
    assert not bad(rows)


def test_a_killed_broker_is_down_to_everybody(states_of):
    """Node 3 is killed with SIGKILL and started again; leaders return to it later."""
    rows = bad(states_of("leader_move"))
    killed, starting = times_of("leader_move", "broker_killed", "broker_starting")[:2]
    assert {(row.node_id, row.server_ip, row.state) for row in rows} == {(3, "10.77.0.13", "down")}
    clients = [row for row in rows if row.server_port == 9092]
    assert {row.host_kind for row in clients} == {"client", "broker"}
    assert all(abs(row.from_ns - killed) < NEAR_NS for row in clients)
    assert all(row.to_ns > starting for row in clients)
    assert all(list(row.packets) == sorted(row.packets) and row.n_waiting > 0 for row in rows)


def test_a_cut_path_concerns_its_host_alone(states_of):
    """Packets between 10.77.0.101 and node 2 are dropped, later those of 10.77.0.102 to node 1 refused."""
    rows = states_of("pieces/path_cut")
    cut, refused = times_of("pieces/path_cut", "path_cut")
    restored, accepted = times_of("pieces/path_cut", "path_restored")
    silent, refusing = sorted(bad(rows), key=lambda row: row.from_ns)
    assert (silent.state, silent.server_ip, silent.host) == ("silent", "10.77.0.12", "10.77.0.101")
    assert (refusing.state, refusing.server_ip, refusing.host) == ("refusing", "10.77.0.11", "10.77.0.102")
    times = ((silent, cut, restored), (refusing, refused, accepted))
    assert all(abs(row.from_ns - begin) < NEAR_NS for row, begin, _ in times)
    assert all(abs(row.to_ns - end) < NEAR_NS for row, _, end in times)
    served = {row.host for row in rows if row.server_ip == "10.77.0.12" and row.state == "serving"}
    assert {"10.77.0.102", "10.77.0.103"} <= served


def test_a_path_that_loses_packets_is_lossy_to_its_host_alone(states_of):
    """40 % of the packets between 10.77.0.104 and node 3 are dropped, both ways. The first packet that is lost for long
    is one of 2 s later."""
    (lossy,) = bad(states_of("pieces/lossy_path"))
    (dropped,), (restored,) = (times_of("pieces/lossy_path", kind) for kind in ("path_lossy", "path_restored"))
    assert (lossy.state, lossy.server_ip, lossy.host) == ("lossy", "10.77.0.13", "10.77.0.104")
    assert dropped < lossy.from_ns < lossy.to_ns < restored
    assert lossy.to_ns - lossy.from_ns > (restored - dropped) / 2


def test_a_connection_that_a_middlebox_forgot_is_dead_while_others_of_its_host_work(states_of):
    """All packets of one idle connection of 10.77.0.101 are dropped, both ways; its client opens another."""
    (dead,) = bad(states_of("pieces/dead_flow"))
    (dropped,), (removed,) = (times_of("pieces/dead_flow", kind) for kind in ("middlebox_drop", "middlebox_removed"))
    assert (dead.state, dead.server_ip, dead.host, dead.n_waiting) == ("flow_dead", "10.77.0.11", "10.77.0.101", 1)
    assert dropped < dead.from_ns < dead.to_ns < removed
    (failure,) = broker_failures([*states_of("pieces/dead_flow")])
    assert (failure.kind.name, failure.hosts) == ("dead_flow", frozenset({"10.77.0.101"}))


def test_a_process_that_runs_at_a_fifth_of_its_speed_is_slow_to_everybody(states_of):
    """Node 2 is stopped for 80 of every 100 ms (SIGSTOP, SIGCONT); no request fails."""
    rows = bad(states_of("pieces/slow_broker"))
    (slowed,), (restored,) = (times_of("pieces/slow_broker", kind) for kind in ("broker_slowed", "broker_full_speed"))
    assert {(row.state, row.server_ip) for row in rows} == {("slow", "10.77.0.12")}
    assert "client" in {row.host_kind for row in rows}
    for row in rows:
        assert row.before_ns < slowed < row.shown_from_ns
        assert row.shown_to_ns < restored < row.after_ns
        assert row.times_usual > 3
        assert row.requests


@pytest.mark.parametrize(
    ("name", "begun", "over"),
    [
        ("leader_move", "broker_killed", "broker_starting"),
        ("pieces/path_cut", "path_cut", "path_restored"),
        ("pieces/lossy_path", "path_lossy", "path_restored"),
        ("pieces/slow_broker", "broker_slowed", "broker_full_speed"),
        ("pieces/frozen_broker", "broker_frozen", "broker_resumed"),
        ("pieces/frozen_replica", "broker_frozen", "broker_resumed"),
    ],
)
def test_a_fault_begins_and_ends_within_its_brackets(name, begun, over, states_of):
    faults = [fault_of(failure) for failure in broker_failures(states_of(name))]
    for at_ns in times_of(name, begun):
        assert any(f.start_after_ns - CLOCKS_NS <= at_ns <= f.start_ns + CLOCKS_NS for f in faults if f.start_after_ns)
    for at_ns in times_of(name, over):
        assert any(f.end_after_ns - CLOCKS_NS <= at_ns <= f.end_ns + CLOCKS_NS for f in faults if f.end_ns)
    assert all(f.start_ns - f.start_after_ns < 6_000_000_000 for f in faults if f.start_after_ns)


def test_a_coordinator_that_waits_for_a_frozen_replica_is_not_frozen(states_of):
    """Node 1 is killed; later node 2 stalls for 5 s (SIGSTOP). Node 3 responds to Produce and OffsetCommit when
    node 2 has fetched again, and to a Heartbeat of a group that commits (Kafka 4.3) not before that either."""
    rows = bad(states_of("pieces/frozen_replica"))
    assert {(row.server_ip, row.state) for row in rows} == {("10.77.0.11", "down"), ("10.77.0.12", "frozen")}
    (frozen_ns,) = times_of("pieces/frozen_replica", "broker_frozen")
    (resumed_ns,) = times_of("pieces/frozen_replica", "broker_resumed")
    for row in (row for row in rows if row.state == "frozen" and row.server_port == 9092):
        assert abs(row.from_ns - frozen_ns) < NEAR_NS
        assert abs(row.to_ns - resumed_ns) < NEAR_NS


def test_a_stopped_process_is_frozen_to_all_who_wait(states_of):
    """Node 3 stalls for 12 s (SIGSTOP)."""
    rows = bad(states_of("pieces/frozen_broker"))
    (frozen,), (resumed,) = (
        times_of("pieces/frozen_broker", "broker_frozen"),
        times_of("pieces/frozen_broker", "broker_resumed"),
    )
    assert {(row.state, row.node_id) for row in rows} == {("frozen", 3)}
    clients = [row for row in rows if row.host_kind == "client"]
    assert {row.host for row in clients} == {"10.77.0.102", "10.77.0.103", "10.77.0.104"}
    assert all(abs(row.from_ns - frozen) < NEAR_NS for row in clients)
    assert all(abs(row.to_ns - resumed) < NEAR_NS for row in rows)
    assert all(row.requests for row in clients)
