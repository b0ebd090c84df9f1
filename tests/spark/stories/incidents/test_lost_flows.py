"""Connections that were lost on the way: of a host, of a broker, or what is not known; made by hand and recorded."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.conftest import NS, MakeStall, MakeState

from kafkascope_spark.stories.incidents.attribution.attribution import attribute_stalls
from kafkascope_spark.stories.incidents.attribution.stall_candidates import KnownFailures
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.hosts.client_hosts import unreachable_hosts
from kafkascope_spark.stories.incidents.hosts.lost_flows import join_forgotten, lost_flows
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.servers.table import BrokerState

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"


def rows_of(state: MakeState, *lost: tuple[int, int, float]) -> list[BrokerState]:
    """States of pairs of a broker and a host whose connections were lost from a time on, for half a second."""
    return [state(node, host, "flows_lost", at, at + 0.5) for node, host, at in lost]


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ([(1, 21, 10), (2, 21, 10.3)], [("flows_reset", {"10.0.0.21"})]),
        ([(1, 21, 10), (1, 22, 10.3)], [("broker_flows_reset", {"10.0.0.21", "10.0.0.22"})]),
        ([(1, 21, 10), (2, 21, 10), (1, 22, 10), (3, 22, 11)], [("flows_reset", {"10.0.0.21", "10.0.0.22"})]),
        ([(1, 21, 10), (2, 21, 10), (1, 22, 10)], [("flows_reset", {"10.0.0.21"})]),
        ([(1, 21, 10), (2, 21, 30)], []),
        ([(1, 21, 10), (2, 22, 10)], []),
    ],
    ids=["host", "broker", "two hosts", "host and a chance", "far apart", "nothing in common"],
)
def test_whose_connections_were_lost(
    state: MakeState, lost: list[tuple[int, int, float]], expected: list[tuple[str, set[str]]]
) -> None:
    rows = rows_of(state, *lost)
    for row in rows:
        row.n_waiting = 1
    assert [(f.kind.name, set(f.hosts)) for f in lost_flows(rows, [])] == expected


@pytest.mark.parametrize(("n", "expected"), [(1, []), (2, ["flows_reset"])])
def test_of_a_host_with_one_broker_several_connections_must_be_lost(
    state: MakeState, n: int, expected: list[str]
) -> None:
    rows = rows_of(state, (1, 21, 10))
    rows[0].n_waiting = n
    assert [f.kind.name for f in lost_flows(rows, [])] == expected


@pytest.mark.parametrize(
    ("dead", "kinds"),
    [((1, 2, 3), ["flows_reset"]), ((2,), ["client_host", "dead_flow"]), ((), ["client_host"])],
    ids=["all that was in use", "one", "none"],
)
def test_a_host_whose_old_connections_stay_dead_when_new_ones_work_was_forgotten(
    state: MakeState, dead: tuple[int, ...], kinds: list[str]
) -> None:
    """Recorded: a gateway forgot all connections of a host and dropped what came on them. The host was silent until its
    clients gave up after 9 s; then new connections worked, and what was sent again on old ones was not acknowledged."""
    rows = [state(node, host, "serving", 0, 6) for node in (1, 2, 3) for host in (21, 22)]
    rows += [state(node, 21, "host_silent", 6.3, 15.4) for node in (1, 2, 3)]
    rows += [replace(state(node, 21, "flow_dead", 15.5, 60), before_ns=7 * NS, n_waiting=5) for node in dead]
    of_brokers = broker_failures(rows)
    of_clients = unreachable_hosts(rows, of_brokers)
    join_forgotten(of_brokers, of_clients)
    found = [*of_clients, *of_brokers]
    assert [failure.kind.name for failure in found] == kinds
    assert fault_of(found[0]).end_ns == int(15.4 * NS)
    if len(dead) == 3:
        assert "15 connections between 10.0.0.21 and 3 brokers, all that were in use" in sentence_of(found[0], None, 0)


def test_a_broker_that_failed_at_that_time_explains_it(state: MakeState) -> None:
    rows = rows_of(state, (1, 21, 10), (2, 21, 10))
    down = [state(1, 22, "serving", 0, 9), state(1, 22, "down", 9, 15), state(1, 22, "serving", 15, 60)]
    assert not list(lost_flows(rows, broker_failures(down)))


def test_who_waited_for_a_response_then_waits_because_of_it(state: MakeState, stall: MakeStall) -> None:
    """A client does not learn that its connection is gone: its wait goes on long after the loss."""
    (failure,) = lost_flows(rows_of(state, (1, 21, 10), (2, 21, 10)), [])
    waits = stall("consume", 21, 1, 10.2, 25)
    others = [stall("consume", 22, 1, 10.2, 25), stall("consume", 21, 1, 14, 25)]
    assert attribute_stalls([waits, *others], KnownFailures([failure])) == others
    assert failure.stalls == [waits]


@pytest.mark.spark
def test_a_middlebox_forgot_all_connections_of_a_host(dataset_of: Callable[..., Path]) -> None:
    """Recorded: its consumer waited for the response to a Fetch beyond the end of the piece."""
    (event,) = json.loads((PIECES / "flows_reset.truth.json").read_text())["events"]
    rows = pq.read_table(dataset_of("flows_reset") / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["severity"] != "info")
    assert (row["kind"], row["place"], row["hosts"]) == ("flows_reset", "client_host", [event["detail"]["ip"]])
    assert row["fault_start_after_ns"] - NS < event["ts_ns"] < row["fault_start_ns"] + NS
    assert (row["n_stalls"] > 0, row["confidence"]) == (True, "confirmed")
