"""Restarts of brokers: their order, releases and cost, from rows written by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.row_types import StoryRow, column_converters
from kafkascope_analyzer.dataset.tables import CONNECTIONS, TOPOLOGY
from kafkascope_parsers.schema import api_name
from kafkascope_parsers.schema.releases import api_releases
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.restarts.machine import Restarts
from kafkascope_spark.stories.restarts.table import BrokerRestart
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall

T = TypeVar("T")
Row = dict[str, Any]
Restarted = Callable[..., list[BrokerRestart]]
S = 1_000_000_000


def row_of(kind: type[T], /, **columns: Any) -> T:
    """An object of the class with these values; the other columns are null, or empty where they may not be."""
    return kind(**{name: columns.get(name, convert(None)) for name, convert in column_converters(kind).items()})


def ns(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * S)


def offer(release: str) -> list[str]:
    """What a broker of a release answers to ApiVersions, as `connections` has it."""
    spoken = {key: api.spoken[release] for key, api in api_releases().items() if "broker" in api.listeners}
    return [f"{api_name(key)}:{v.low}-{v.high}" for key, v in spoken.items() if v.low <= v.high]


def connection(second: int, node: int, release: str) -> Row:
    place = {"server_ip": f"10.0.0.{node}", "server_port": 9092, "node_id": node, "protocol": "kafka"}
    times = {"first_ns": second * S, "last_ns": second * S}
    return {"conn_id": f"c{second}-{node}", **place, **times, "api_versions_offered": offer(release)}


def leader(second: int, partition: int, node: int, epoch: int) -> Row:
    row = {"kind": "leader", "topic": "orders", "partition": partition, "node_id": node, "leader_epoch": epoch}
    return {**row, "ts_ns": second * S, "request_id": f"r{second}-{partition}"}


def down(node: int, begin: float, end: float | None, host: str = "10.0.0.21") -> BrokerState:
    place = {"node_id": node, "server_ip": f"10.0.0.{node}", "server_port": 9092, "host": host}
    return row_of(BrokerState, **place, state="down", from_ns=ns(begin), to_ns=ns(end))


def incident(
    name: str, kind: str, node: int | None, begin: float, end: float | None, root: str | None = None
) -> IncidentRow:
    subject = f"node {node} (10.0.0.{node}:9092)" if node else "orders-0"
    row = {"incident_id": name, "kind": kind, "node_id": node, "subject": subject, "root_incident_id": root}
    return row_of(IncidentRow, **row, start_ns=ns(begin), end_ns=ns(end))


def stall(client: str, name: str | None, node: int, begin: float, seconds: float, *, over: bool = True) -> Stall:
    row = {"stall_id": f"{client}-{begin}", "client_instance_id": client, "incident_id": name, "node_id": node}
    end = ns(begin + seconds) if over else None
    return row_of(Stall, **row, from_ns=ns(begin), to_ns=end, waited_ms=int(seconds * 1000))


@pytest.fixture
def restarted(tmp_path: Path) -> Restarted:
    """The restarts of these rows, and of a dataset with these connections and this topology."""

    def find(
        rows: Sequence[StoryRow] = (), connections: Sequence[Row] = (), topology: Sequence[Row] = ()
    ) -> list[BrokerRestart]:
        write(tmp_path, CONNECTIONS, connections)
        write(tmp_path, TOPOLOGY, topology)
        (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
        restarts = Restarts(Dataset.open(tmp_path))
        for row in rows:
            restarts.take(row)
        return list(restarts.finish())

    return find


def write(place: Path, table: Table, rows: Sequence[Row]) -> None:
    (place / table.name).mkdir()
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    pq.write_table(pa.Table.from_pylist(list(rows), schema), place / table.name / "part-0.parquet")


def test_a_rolling_upgrade(restarted: Restarted) -> None:
    """Nodes 1 and 2 are restarted with a newer release: 1 after its leader has moved away, 2 without."""
    first, second = restarted(
        [
            incident("down-1", "broker_down", 1, 10, 14),
            incident("moved-1", "leader_move", None, 9.1, 9.4),
            incident("back-1", "leader_move", None, 16.2, 18),
            incident("down-2", "broker_down", 2, 30, 42),
            incident("other", "leader_move", None, 50, 52),
            down(1, 10, 14),
            down(1, 10, 20, "10.0.0.22"),
            down(2, 30, 34),
            stall("late", "back-1", 3, 16.2, 1.8),
            stall("svc", "down-2", 2, 30, 12),
            stall("svc2", "down-2", 2, 31, 4),
            stall("away", "other", 3, 50, 2),
        ],
        [
            *(connection(1, node, "3.9") for node in (1, 2, 3)),
            connection(14, 1, "4.0"),
            connection(34, 2, "4.0"),
        ],
        [leader(0, 0, 1, 0), leader(9, 0, 3, 1), leader(16, 0, 1, 2)],
    )
    assert (first.node_id, first.subject) == (1, "node 1 (10.0.0.1:9092)")
    assert (first.begin_ns, first.down_ns, first.back_ns) == (9 * S, 10 * S, 14 * S)
    assert (first.release_before, first.release_after, first.is_upgrade) == ("3.9", "4.0", True)
    assert (first.mode_before, first.mode_after) == ("KRaft", "KRaft")
    assert (first.clients, first.stalls, first.longest_ms) == (("late",), ("late-16.2",), 1800)
    assert (first.incident_id, first.other_incidents) == ("down-1", ("back-1",))
    assert (second.node_id, second.begin_ns, second.back_ns) == (2, 30 * S, 34 * S)
    assert (second.stalls, second.clients, second.longest_ms) == (("svc-30", "svc2-31"), ("svc", "svc2"), 12_000)
    assert second.is_over


def test_leaders_that_move_one_after_the_other_begin_a_shutdown(restarted: Restarted) -> None:
    moves = [leader(0, n, 1, 0) for n in range(4)]
    moves += [leader(second, n, 2, 1) for n, second in enumerate((2, 11, 13, 16))]
    (restart,) = restarted([incident("down-1", "broker_down", 1, 18, 20), down(1, 18, 20)], (), moves)
    assert restart.begin_ns == 11 * S  # the move at 2 s is longer ago than a shutdown takes


def test_what_waited_at_the_broker_meanwhile_is_its_cost(restarted: Restarted) -> None:
    (restart,) = restarted(
        [
            incident("down-1", "broker_down", 1, 10, 14),
            incident("why", "unexplained", None, 11, 13),
            down(1, 10, 14),
            stall("svc", "why", 1, 11, 2),
            stall("other", "why", 2, 11, 2),
            stall("before", "why", 1, 5, 2),
        ]
    )
    assert (restart.stalls, restart.other_incidents) == (("svc-11",), ("why",))


def test_what_followed_from_the_incident_is_its_cost(restarted: Restarted) -> None:
    (restart,) = restarted(
        [
            incident("down-1", "broker_down", 1, 10, 14),
            incident("group", "member", None, 12, None, root="down-1"),
            down(1, 10, 14),
            stall("svc", "group", 3, 12, 9, over=False),
        ]
    )
    assert (restart.stalls, restart.other_incidents, restart.is_over) == (("svc-12",), ("group",), False)


def test_what_followed_from_another_incident_is_no_restart(restarted: Restarted) -> None:
    rows = [incident("path", "path", None, 9, 20), incident("down-1", "broker_down", 1, 10, 14, root="path")]
    assert restarted(rows) == []


def test_a_stall_is_the_cost_of_one_restart(restarted: Restarted) -> None:
    found = restarted(
        [
            incident("down-1", "broker_down", 1, 10, 14),
            incident("down-2", "broker_down", 2, 12, 15),
            down(1, 10, 14),
            down(2, 12, 15),
            stall("svc", "down-1", 2, 12.5, 2),
        ]
    )
    assert [restart.stalls for restart in found] == [("svc-12.5",), ()]


def test_a_broker_that_does_not_come_back_and_nobody_who_waits(restarted: Restarted) -> None:
    (restart,) = restarted([incident("down-1", "broker_down", 1, 10, 14), down(1, 10, None)])
    assert (restart.back_ns, restart.longest_ms, restart.is_over) == (None, None, True)
    assert (restart.release_before, restart.release_after, restart.is_upgrade) == (None, None, False)


def test_a_release_that_changes_shows_a_restart_that_nobody_noticed(restarted: Restarted) -> None:
    (restart,) = restarted((), [connection(1, 1, "3.9"), connection(20, 1, "4.0")])
    assert (restart.begin_ns, restart.down_ns, restart.back_ns) == (1 * S, 1 * S, 20 * S)
    assert (restart.subject, restart.incident_id) == ("node 1 (10.0.0.1:9092)", None)
    assert (restart.release_before, restart.release_after) == ("3.9", "4.0")
