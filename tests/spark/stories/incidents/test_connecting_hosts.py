"""Hosts whose attempts to connect were not answered, from states and rows written by hand. Times are seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.analyzer.report.small_dataset import write_table

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.hosts.connecting_hosts import give_connecting_hosts
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.connection_waits import Unreached, connection_waits
from kafkascope_spark.stories.incidents.table import IncidentRow

from .conftest import NS, MakeStall, MakeState

SERVER = {"server_ip": "10.0.0.1", "server_port": 9092}


def tried(at: float, *, host: str = "10.0.0.21", late_s: float | None = None, **more: Any) -> dict[str, Any]:
    """A connection whose SYN nobody answered, or only after so many seconds."""
    answer = {"close_kind": "unanswered"} if late_s is None else {"handshake_us": int(late_s * 1e6)}
    return {"conn_id": f"{host}-{at}", "client_ip": host, **SERVER, "syn_ns": int(at * NS), **answer, **more}


def answered(at: float, host: str = "10.0.0.21") -> dict[str, Any]:
    return {"client_ip": host, "response_ns": int(at * NS)}


@pytest.mark.parametrize(
    ("connections", "requests", "waited_s"),
    [
        ([tried(11)], [answered(16)], 5),
        ([tried(11)], [], 9),
        ([tried(11)], [answered(10.5), answered(12, "10.0.0.22")], 9),
        ([tried(11), tried(15)], [answered(11.5), answered(16)], 1),
        ([tried(11, late_s=3)], [answered(14.1)], 3.1),
        ([tried(11, late_s=0.2)], [], 0),
        ([tried(11, host="10.0.0.22"), tried(12, server_port=9093), tried(9), tried(20)], [], 0),
    ],
    ids=["until served", "to the end", "others are served", "served meanwhile", "late", "in time", "others try"],
)
def test_a_host_waits_from_an_unanswered_syn_until_anything_serves_it(
    tmp_path: Path, connections: list[dict[str, Any]], requests: list[dict[str, Any]], waited_s: float
) -> None:
    write_table(tmp_path, CONNECTIONS, connections)
    write_table(tmp_path, REQUESTS, requests)
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    asked = [Unreached("10.0.0.21", "10.0.0.1:9092", 10 * NS, 20 * NS)]
    assert connection_waits(Dataset.open(tmp_path), asked) == [int(waited_s * NS)]
    assert connection_waits(None, asked) == [0]


@pytest.mark.parametrize(("waited_s", "hosts"), [(4.0, frozenset({"10.0.0.21"})), (0.9, frozenset())])
def test_a_host_waited_if_its_longest_wait_counts_as_a_stall(
    state: MakeState, waited_s: float, hosts: frozenset[str]
) -> None:
    failure = Failure(PATH, "10.0.0.21 to node 1", 10 * NS, 20 * NS)
    failure.states = [state(1, 21, "silent", 10, 20), state(1, 31, "silent", 10, 20, "broker")]
    asked: list[Unreached] = []

    def ask(questions: Sequence[Unreached]) -> list[int]:
        asked.extend(questions)
        return [int(waited_s * NS)] * len(questions)

    give_connecting_hosts([failure], ask, 1000)
    assert asked == [Unreached("10.0.0.21", "10.0.0.1:9092", 10 * NS, 20 * NS)]
    assert (failure.connecting_hosts, failure.waited_ms) == (hosts, int(waited_s * 1000) if hosts else 0)


class Waits(Packets):
    """Each host waited so long for a connection."""

    def __init__(self, waited_s: float) -> None:
        super().__init__()
        self._waited_ns = int(waited_s * NS)

    def connection_waits(self, questions: Sequence[Unreached]) -> list[int]:
        assert [each.host for each in questions] == ["10.0.0.21"]
        return [self._waited_ns for _ in questions]


@pytest.mark.parametrize(("waited_s", "severity"), [(0.9, "info"), (5, "warning"), (12, "error")])
def test_a_path_on_which_hosts_wait_for_connections_is_no_routine(
    state: MakeState, waited_s: float, severity: str
) -> None:
    """A load balancer that drops some SYNs of a host that it should send back to itself, and serves another host
    (https://github.com/kubernetes/cloud-provider-aws/issues/1160)."""
    (row,) = incidents(state, Waits(waited_s))
    assert (row.kind, row.hosts, row.severity) == ("path", ("10.0.0.21",), severity)
    is_long = severity != "info"
    assert row.kept_out_hosts == (("10.0.0.21",) if is_long else ())
    assert ("A host waited for it for at least" in row.sentence) == is_long
    assert ("attempts to connect were not answered" in row.sentence) == is_long


def test_where_a_stall_shows_who_waited_nothing_is_asked(state: MakeState, stall: MakeStall) -> None:
    class Unasked(Packets):
        def connection_waits(self, questions: Sequence[Unreached]) -> list[int]:
            raise AssertionError

    (row,) = incidents(state, Unasked(), stall("produce", 21, 1, 10, 16))
    assert (row.n_stalls, row.kept_out_hosts) == (1, ())


def incidents(state: MakeState, packets: Packets, *rows: Any) -> list[IncidentRow]:
    """The incidents of a broker that was silent to one host and served another."""
    machine = Incidents(0, packets=packets)
    for name, start, end in (("serving", 0, 10), ("silent", 10, 16), ("serving", 16, 60)):
        machine.take(state(1, 21, name, start, end))
    for row in (state(1, 22, "serving", 0, 60), *rows):
        machine.take(row)
    return [row for row in machine.finish() if isinstance(row, IncidentRow)]
