"""Whose link lost packets or was slow, by hosts and brokers that were so to each other; made by hand."""

from collections.abc import Sequence
from dataclasses import replace

from tests.spark.stories.incidents.conftest import MakeState

from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.brokers.links import with_links
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies, Latency
from kafkascope_spark.stories.servers.table import BrokerState

from .conftest import NS

Bad = dict[tuple[int, int], tuple[str, float, float]]
ONE, TWO = "10.0.0.21", "10.0.0.22"


def grid(state: MakeState, bad: Bad) -> list[BrokerState]:
    """Three brokers and two hosts for a minute; bad: by broker and host, a state with its begin and end."""
    rows = []
    for node in (1, 2, 3):
        for host in (21, 22):
            name, start, end = bad.get((node, host), ("serving", 60, 60))
            rows += [state(node, host, "serving", 0, start), state(node, host, name, start, end)]
            rows += [state(node, host, "serving", end, 60)]
    return rows


def nobody(asked: Sequence[Asked]) -> list[Latencies]:
    """Nobody asked a broker for anything."""
    return [Latencies() for _ in asked]


def placed(state: MakeState, bad: Bad) -> list[tuple[str, int | None, set[str]]]:
    rows = grid(state, bad)
    return [(f.kind.name, f.node_id, set(f.hosts)) for f in with_links(broker_failures(rows), rows, nobody)]


def test_what_one_host_loses_to_all_its_brokers_is_lost_at_that_host(state: MakeState) -> None:
    bad = {(1, 21): ("lossy", 10, 30), (2, 21): ("silent", 11, 14), (3, 21): ("lossy", 33, 40)}
    assert placed(state, bad) == [("host_lossy", None, {ONE})]


def test_a_connection_that_looks_dead_amid_losses_is_part_of_them(state: MakeState) -> None:
    """Recorded of a link of 400 kbit/s: on two connections all attempts of TCP were lost until clients gave up."""
    bad: Bad = {(1, 21): ("flow_dead", 12, 30), (2, 21): ("silent", 11, 14), (3, 21): ("lossy", 15, 20)}
    assert placed(state, bad) == [("host_lossy", None, {ONE})]
    alone: Bad = {(node, 21): ("flow_dead", 12, 30) for node in (1, 2, 3)}
    assert {kind for kind, _, _ in placed(state, alone)} == {"dead_flow"}, "nothing is lost but what is idle"


def test_with_a_broker_that_serves_it_well_its_paths_are_lossy(state: MakeState) -> None:
    bad: Bad = {(1, 21): ("lossy", 10, 30), (2, 21): ("lossy", 11, 30)}
    assert placed(state, bad) == [("path", 1, {ONE}), ("path", 2, {ONE})]


def test_losses_long_after_each_other_are_those_of_paths(state: MakeState) -> None:
    bad: Bad = {(1, 21): ("lossy", 10, 20), (2, 21): ("lossy", 28, 32), (3, 21): ("lossy", 45, 50)}
    assert [kind for kind, _, _ in placed(state, bad)] == ["path", "path", "path"]


def test_hosts_that_lose_packets_at_one_time_are_one_failure(state: MakeState) -> None:
    bad: Bad = {(node, host): ("lossy", 10 + node, 30) for node in (1, 2, 3) for host in (21, 22)}
    assert placed(state, bad) == [("host_lossy", None, {ONE, TWO})]


def test_what_all_hosts_lose_to_one_broker_is_lost_at_that_broker(state: MakeState) -> None:
    bad: Bad = {(3, 21): ("lossy", 10, 30), (3, 22): ("lossy", 11, 29)}
    assert placed(state, bad) == [("broker_lossy", 3, set())]


def test_what_the_broker_itself_loses_as_a_host_is_part_of_that(state: MakeState) -> None:
    rows = grid(state, {(3, 21): ("lossy", 10, 30), (3, 22): ("lossy", 11, 29)})
    rows += [replace(state(1, 3, "lossy", 9, 28), host=rows[-1].server_ip, host_kind="broker")]
    (failure,) = with_links(broker_failures(rows), rows, nobody)
    assert (failure.kind.name, failure.node_id, len(failure.states)) == ("broker_lossy", 3, 3)


def test_where_the_broker_serves_another_host_well_the_path_is_lossy(state: MakeState) -> None:
    assert placed(state, {(3, 21): ("lossy", 10, 30)}) == [("path", 3, {ONE})]


def test_a_slow_link_is_one_of_the_host_the_broker_or_the_path(state: MakeState) -> None:
    of_host: Bad = {(node, 21): ("delayed", 10, 30) for node in (1, 2, 3)}
    of_broker: Bad = {(3, host): ("delayed", 10, 30) for host in (21, 22)}
    assert placed(state, of_host) == [("host_delayed", None, {ONE})]
    assert placed(state, of_broker) == [("broker_delayed", 3, set())]
    assert placed(state, {(3, 21): ("delayed", 10, 30)}) == [("path_delayed", 3, {ONE})]


def test_a_broker_is_slow_to_all_where_it_answers_nobody_soon(state: MakeState) -> None:
    """Of three hosts two show it; the third only asked at its other brokers, or was answered at once."""
    rows = [replace(row, late_ms=900) for row in grid(state, {(3, host): ("delayed", 10, 30) for host in (21, 22)})]
    rows += [state(3, 23, "serving", 0, 60)]
    rows += [replace(state(1, 3, "silent", 9, 12), host=rows[-1].server_ip, host_kind="broker")]
    (failure,) = with_links(broker_failures(rows), rows, nobody)
    assert (failure.kind.name, failure.node_id, failure.start_ns) == ("broker_delayed", 3, 9 * NS)
    one = [row for row in rows if (row.state, row.host) != ("delayed", TWO)]
    assert "path_delayed" in {f.kind.name for f in with_links(broker_failures(one), one, nobody)}
    one += [replace(state(2, 3, "delayed", 10, 25), host=failure.states[0].server_ip, host_kind="broker", late_ms=900)]
    assert [f.kind.name for f in with_links(broker_failures(one), one, nobody)] == ["broker_delayed"]
    quick = Latencies({("10.0.0.23", 3): Latency(5, 0, 300_000_000)})
    found = with_links(broker_failures(rows), rows, lambda asked: [quick for _ in asked])
    assert {f.kind.name for f in found} == {"path_delayed", "replication"}


def test_a_path_that_loses_packets_is_not_part_of_a_slow_link(state: MakeState) -> None:
    bad: Bad = {(1, 21): ("delayed", 10, 30), (2, 21): ("delayed", 11, 30), (3, 21): ("lossy", 10, 30)}
    assert sorted(kind for kind, _, _ in placed(state, bad)) == ["path", "path_delayed", "path_delayed"]
