"""The end of a broker's ZooKeeper session as the cause of what followed: from rows written by hand, and from packets of
a broker that was killed, as tshark reads them. No capture of the lab has a broker that lost its session and served on:
that is tested by rows alone.
"""

import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard
from tests.spark.stories.incidents.advised import advised

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.stories.incidents.brokers.zookeeper_session import ended_sessions, give_sessions, of_lost_sessions
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.servers.table import BrokerState

from .conftest import NS, MakeRow, MakeStall, MakeState, Row, ns

PIECE = pathlib.Path(__file__).parents[4] / "fixtures" / "captures" / "pieces" / "zk_lost_broker.pcap.zst"


def session(node: int, heard: float, over: float | None, **more: Any) -> ZooKeeperSession:
    """The session of a broker, which was last heard from and over at these seconds; it expired unless it is closed."""
    made = ZooKeeperSession(
        node_id=None,
        client_ip=f"10.0.0.{node}",
        server_ip="10.0.0.9",
        server_port=2181,
        session=None,
        timeout_ms=6_000,
        first_ns=0,
        heard_ns=int(heard * NS),
        is_closed=False,
        ended_ns=ns(over),
        expired_ns=ns(over),
        reopened_ns=None,
        is_replaced=False,
        conn_ids=(f"zk-{node}-{heard}",),
    )
    return replace(made, **more)


def incidents_of(rows: dict[str, Iterable[Any]]) -> list[Row]:
    machine = Incidents(0)
    for of_kind in rows.values():
        for row in of_kind:
            machine.take(row)
    found = batch_of_rows(IncidentRow, [row for row in machine.finish() if isinstance(row, IncidentRow)])
    return found.to_pylist()


@pytest.fixture
def killed_broker(state: MakeState) -> list[BrokerState]:
    """Node 2 is down from 5 to 30 s, as two hosts see it; node 1 serves."""
    rows = [state(2, host, "serving", 0, 5) for host in (21, 22)]
    rows += [state(2, host, "down", 5, 30) for host in (21, 22)]
    return rows + [state(1, host, "serving", 0, 60) for host in (21, 22)]


@pytest.fixture
def serving(state: MakeState) -> list[BrokerState]:
    """Nodes 1 and 2 serve all the time."""
    return [state(node, host, "serving", 0, 60) for node in (1, 2) for host in (21, 22)]


LOST = "Its ZooKeeper session was lost: nothing came from it after 00:04.000, so that it expired at 00:10.000"


def test_the_incident_of_a_killed_broker_names_the_session_that_was_lost_with_it(
    killed_broker: list[BrokerState],
) -> None:
    (incident,) = incidents_of({"broker_state": killed_broker, "zookeeper_session": [session(2, 4, 10)]})
    assert LOST in incident["sentence"]
    assert incident["evidence"][0] == "zk-2-4"
    assert incident["how_known"].endswith("; its ZooKeeper session")
    assert "zookeeper.session.timeout.ms of the brokers (now 6000)" in advised(incident)


def test_a_broker_that_closed_its_session_was_shut_down(killed_broker: list[BrokerState]) -> None:
    closed = session(2, 5.5, 5.5, is_closed=True, expired_ns=None)
    (incident,) = incidents_of({"broker_state": killed_broker, "zookeeper_session": [closed]})
    assert "It closed its ZooKeeper session at 00:05.500, as in a clean shutdown." in incident["sentence"]
    assert "zookeeper.session.timeout.ms" not in advised(incident)
    assert advised(incident).startswith("It shut down in order, as for a restart. Restart brokers one at a time")


@pytest.mark.parametrize(("refused", "back"), [(12, 20), (25, 30)], ids=["no longer refused", "still refused"])
def test_a_broker_that_opens_its_next_session_is_back(
    killed_broker: list[BrokerState], refused: int, back: int
) -> None:
    states = [replace(row, shown_to_ns=refused * NS) for row in killed_broker]
    reopened = session(2, 4, 10, reopened_ns=20 * NS)
    (incident,) = incidents_of({"broker_state": states, "zookeeper_session": [reopened]})
    assert (incident["fault_end_after_ns"], incident["fault_end_ns"]) == (refused * NS, back * NS)


@pytest.mark.parametrize(
    "other",
    [
        session(1, 4, 10),  # of a broker that did not fail
        session(2, 4, None, ended_ns=None),  # it lives
        session(2, 1, 3, is_closed=True, expired_ns=None),  # over before the broker failed
        session(2, 40, 46),  # after it was back
    ],
)
def test_a_session_of_another_broker_or_time_explains_nothing(killed_broker: list[BrokerState], other: Row) -> None:
    (incident,) = incidents_of({"broker_state": killed_broker, "zookeeper_session": [other]})
    assert "ZooKeeper" not in incident["sentence"]
    assert not any(proof.startswith("zk-") for proof in incident["evidence"])


def test_moves_of_leaders_as_the_session_expires_follow_from_the_brokers_fall(
    killed_broker: list[BrokerState], recovery: MakeRow
) -> None:
    moves = [recovery("FENCED_LEADER_EPOCH", 21, 1, second, second + 0.5) for second in (2, 11, 50)]
    found = incidents_of({"broker_state": killed_broker, "recovery": moves, "zookeeper_session": [session(2, 4, 10)]})
    fall = next(row["incident_id"] for row in found if row["kind"] == "broker_down")
    moved = {row["start_ns"] // NS: row for row in found if row["kind"] == "leader_move"}
    assert {second: row["root_incident_id"] for second, row in moved.items()} == {2: None, 11: fall, 50: None}
    assert ", after the ZooKeeper session of node 2 (10.0.0.2) expired." in moved[11]["sentence"]
    assert "zk-2-4" in moved[11]["evidence"]
    assert "ZooKeeper" not in moved[2]["sentence"] + moved[50]["sentence"]


def test_leaders_that_moved_after_the_broker_was_registered_again_do_not_follow(
    killed_broker: list[BrokerState], recovery: MakeRow
) -> None:
    back = session(2, 4, 10, reopened_ns=ns(12), is_replaced=True)
    move = [recovery("FENCED_LEADER_EPOCH", 21, 1, 14, 15)]
    found = incidents_of({"broker_state": killed_broker, "recovery": move, "zookeeper_session": [back]})
    assert {row["root_incident_id"] for row in found} == {None}


def test_a_broker_that_lost_its_session_and_served_on_is_an_incident_of_its_own(
    serving: list[BrokerState], recovery: MakeRow, stall: MakeStall
) -> None:
    rows = {
        "broker_state": serving,
        "stall": [stall("produce", 21, 2, 11, 14, error_names=["NOT_LEADER_OR_FOLLOWER"])],
        "recovery": [recovery("NOT_LEADER_OR_FOLLOWER", 21, 2, 11, 14)],
        "zookeeper_session": [session(2, 4, 10, reopened_ns=ns(13), is_replaced=True)],
    }
    (incident,) = incidents_of(rows)
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("zookeeper_session", 2, "warning")
    assert incident["sentence"].startswith(
        "Node 2 (10.0.0.2) had no ZooKeeper session from 00:04.000 (00:00:04.000 UTC) to 00:13.000 (9.00 s): nothing "
        "came from it after 00:04.000, so that it expired at 00:10.000"
    )
    assert (incident["n_stalls"], incident["clients"]) == (1, ["ci-21"])


def test_a_session_that_may_go_on_elsewhere_is_no_incident(serving: list[BrokerState]) -> None:
    """No other session of the broker shows that it was lost: another server may have taken it up."""
    assert not incidents_of({"broker_state": serving, "zookeeper_session": [session(2, 4, 10)]})


def test_a_session_beside_one_that_lives_is_no_brokers(serving: list[BrokerState]) -> None:
    """Of a tool on the broker's host, say."""
    tool = session(2, 4, 10, first_ns=NS, reopened_ns=ns(20), is_replaced=True)
    brokers = session(2, 59, None, ended_ns=None)
    assert not incidents_of({"broker_state": serving, "zookeeper_session": [brokers, tool]})


@pytest.mark.spark
@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_the_session_of_a_killed_broker_as_its_packets_show_it(
    dataset_of: Callable[[str], pathlib.Path], tmp_path: pathlib.Path
) -> None:
    """Node 202 (10.88.3.12) of a cluster of Kafka 2.8 was killed with SIGKILL; ZooKeeper (10.88.3.6) granted 6 s."""
    pcap = tmp_path / "piece.pcap"
    pcap.write_bytes(zstandard.ZstdDecompressor().stream_reader(PIECE.read_bytes()).read())
    of_session = "ip.src==10.88.3.12 && tcp.dstport==2181"
    ended = _times(pcap, f"{of_session} && (tcp.flags.fin==1 || tcp.flags.reset==1)")[0]
    before = f"tcp.port==2181 && tcp.len>0 && frame.time_epoch<{ended / 1e9:.9f}"
    last = _times(pcap, before)[-1]
    dataset = dataset_of("zk_lost_broker")
    (start_ns,) = pq.read_table(dataset / "captures", columns=["first_ns"])["first_ns"].to_pylist()
    rows = pq.read_table(dataset / "stories" / "incidents").to_pylist()
    (incident,) = [row for row in rows if row["kind"] == "broker_down"]
    expected = [  # the times of packets are known to the millisecond, rounded up or down
        f"nothing came from it after {_since(at)}, so that it expired at {_since(at + 6 * NS)}"
        for at in (last - start_ns, last - start_ns + NS // 1000)
    ]
    assert any(sentence in incident["sentence"] for sentence in expected)
    assert "(session timeout 6.00 s)" in incident["sentence"]
    assert "a firewall or a cut path" not in incident["sentence"]


def _times(pcap: pathlib.Path, only: str) -> list[int]:
    command = ["tshark", "-r", str(pcap), "-Y", only, "-T", "fields", "-e", "frame.time_epoch"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [int(line.replace(".", "")) for line in lines]


def _since(ns: int) -> str:
    minutes, ms = divmod(ns // 1_000_000, 60_000)
    return f"{minutes:02}:{ms // 1000:02}.{ms % 1000:03}"


def test_only_the_end_of_a_brokers_only_session_is_known(serving: list[BrokerState], state: MakeState) -> None:
    """A client of ZooKeeper that is no broker, a session that goes on, and one of a client that holds another at the
    same time say nothing."""
    ended = session(2, 5, 11)
    assert [each.subject for each in ended_sessions([ended], serving)] == ["node 2 (10.0.0.2)"]
    assert ended_sessions([session(7, 5, 11)], serving) == []
    assert ended_sessions([session(2, 5, None)], serving) == []
    assert ended_sessions([ended, session(2, 50, None)], serving) == []
    other_node = replace(state(3, 21, "serving", 0, 60), server_ip="10.0.0.2")
    assert ended_sessions([ended], [*serving, other_node]) == [], "two brokers at one address"


def test_a_session_is_lost_if_the_broker_needed_another(serving: list[BrokerState]) -> None:
    (lost,) = of_lost_sessions(ended_sessions([session(2, 5, 11, is_replaced=True, reopened_ns=ns(14))], serving))
    assert (lost.node_id, lost.start_ns, lost.end_ns) == (2, 5 * NS, 14 * NS)
    assert of_lost_sessions(ended_sessions([session(2, 5, 11)], serving)) == []
    closed = session(2, 5, 11, is_replaced=True, is_closed=True)
    assert of_lost_sessions(ended_sessions([closed], serving)) == []


def test_each_session_belongs_to_one_failure_of_its_broker(serving: list[BrokerState], state: MakeState) -> None:
    def failed(kind: Kind, node: int, start: float, end: float) -> Failure:
        failure = Failure(kind, f"node {node}", int(start * NS), int(end * NS), node_id=node)
        failure.states = [state(node, 21, "down", start, end)]
        return failure

    again_open = session(2, 45, 51, first_ns=40 * NS)
    of_node_2, of_node_1, later = ended_sessions([session(2, 5, 11), session(1, 6, 12), again_open], serving)
    first, again, path = failed(BROKER_DOWN, 2, 5, 30), failed(BROKER_DOWN, 2, 6, 30), failed(PATH, 2, 45, 60)
    assert give_sessions([first, again, path], [of_node_2, of_node_1, later]) == [of_node_1, later]
    assert [each.process.session for each in (first, again, path)] == [of_node_2, None, None]
    assert give_sessions([first], [later]) == [later], "it has one"
