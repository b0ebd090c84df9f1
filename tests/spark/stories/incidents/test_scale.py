"""The work over incidents grows with the rows, not with their square: counted in calls of functions, which are the same
on every machine."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

from .conftest import NS, MakeRow, MakeStall, MakeState, row_of

FEW, FACTOR = 40, 4
MOST_GROWTH = FACTOR * 1.5
"""Calls may grow by a logarithm more than the rows; a loop over all pairs makes them grow by FACTOR times FACTOR."""
Found = Iterator[tuple[str, Any]]


def calls(rows: list[tuple[str, Any]]) -> int:
    """How many functions of ours, and steps of their generators and comprehensions, it takes to make the incidents."""
    n = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal n
        n += event == "call"

    machine = Incidents(0)
    for _, row in rows:
        machine.take(row)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert any(isinstance(row, IncidentRow) for row in machine.finish())
    finally:
        sys.setprofile(before)
    return n


def named(row: Any, number: int, **more: Any) -> Any:
    """The row as that of another client."""
    more |= {"client_instance_id": more.get("client_instance_id", f"ci-{number}"), "client_ip": f"host-{number}"}
    return row | more if isinstance(row, dict) else replace(row, **more)


def start(number: int, subject: str) -> StartupRow:
    """A start of a client that failed at the subject."""
    about = {"client_instance_id": f"ci-{number}", "start_ns": number * NS, "failed_subject": subject}
    return row_of(StartupRow, startup_id=f"start-{number}", **about)


@pytest.fixture
def denied(recovery: MakeRow, stall: MakeStall, client: MakeRow) -> Callable[[int], Found]:
    """Each client is denied a topic of its own, stalls and never becomes ready."""

    def rows(n: int) -> Found:
        for i in range(n):
            about = {"resource": f"topic{i}-0", "recovery_id": f"rec-{i}"}
            yield "recovery", named(recovery("TOPIC_AUTHORIZATION_FAILED", 1, 1, i, None), i, **about)
            yield "stall", named(stall("produce", 1, 1, i, None), i, topic=f"topic{i}", stall_id=f"stall-{i}")
            yield "failed_start", start(i, f"topic{i}-0")
            yield "affected_client", named(client(1), i)

    return rows


@pytest.fixture
def not_let_in(recovery: MakeRow, use: MakeRow, client: MakeRow) -> Callable[[int], Found]:
    """All clients have wrong passwords: one incident of thousands of clients, which none of their starts outlasts."""

    def rows(n: int) -> Found:
        for i in range(n):
            error = "SASL_AUTHENTICATION_FAILED"
            about = {"resource_kind": "authentication", "resource": "SASL", "recovery_id": f"rec-{i}"}
            yield "recovery", named(recovery(error, 1, None, i, None), i, **about)
            yield "listener_use", named(use(1, "SASL_PLAINTEXT", error_name=error, start=i, end=i + 1), i)
            yield "failed_start", start(i, "10.0.0.1:9093")
            yield "affected_client", named(client(1), i)

    return rows


@pytest.fixture
def standing_still(rebalance: MakeRow, stall: MakeStall, silent: MakeRow) -> Callable[[int], Found]:
    """A host stops with all clients on it; their group goes on without them, and rebalances again and again."""

    def rows(n: int) -> Found:
        yield "rebalance", rebalance(30, 31, {f"client-{i}": 9 for i in range(n)})
        for i in range(n):
            yield "rebalance", rebalance(100 + i, 100.9 + i, {f"client-x{i}": 99 + i})
            yield "silent_client", named(silent(1, 10, 60), i)
            yield "stall", named(stall("consume", 1, 1, 12, 60), i, group_id="orders-app", stall_id=f"stall-{i}")
            late = stall("membership", 1, None, 100 + i, None if i % 2 else 105 + i)
            yield "stall", named(late, i, client_instance_id=f"other-{i}", group_id="orders-app", stall_id=f"late-{i}")

    return rows


@pytest.fixture
def all_brokers_down(state: MakeState, recovery: MakeRow, stall: MakeStall) -> Callable[[int], Found]:
    """Brokers fail one after the other, for ever, and the clients of three hosts wait for each of them."""

    def rows(n: int) -> Found:
        for i in range(n):
            at = {"node_id": i, "server_ip": f"broker-{i}"}
            for host in (21, 22, 23):
                yield "broker_state", replace(state(1, host, "serving", 0, 1 + i), **at)
                yield (
                    "broker_state",
                    replace(state(1, host, ("down", "silent", "frozen", "lossy")[i % 4], 1 + i, None), **at),
                )
            for error in ("NOT_LEADER_OR_FOLLOWER", "COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_UNANSWERED"):
                yield "recovery", recovery(error, 21, i, 2 + i, None, recovery_id=f"rec-{i}-{error}")
            yield "stall", stall("produce", 21, i, 2 + i, None, topic=f"topic{i}")
            yield "stall", stall("commit", 22, None, 2 + i, 2.5 + i, topic=f"topic{i}")

    return rows


@pytest.fixture
def never_served(state: MakeState, recovery: MakeRow, client: MakeRow) -> Callable[[int], Found]:
    """Each client tries an address at which nobody is there."""

    def rows(n: int) -> Found:
        for i in range(n):
            server = f"10.1.0.{i}:9092"
            yield "broker_state", replace(state(None, i, "refusing", i, i + 1), server_ip=f"10.1.0.{i}")
            about = {"resource_kind": "connection", "resource": server, "recovery_id": f"rec-{i}"}
            yield "recovery", named(recovery("CONNECTION_REFUSED", i, None, i, None), i, **about)
            yield "failed_start", start(i, server)
            yield "affected_client", named(client(i), i, advertised=(server,))

    return rows


@pytest.fixture
def one_client(recovery: MakeRow, stall: MakeStall) -> Callable[[int], Found]:
    """One client misses thousands of topics, has one error after the other, and its transactions fail."""

    def rows(n: int) -> Found:
        errors = ("UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", "THROTTLED")
        for i in range(n):
            missing = {"resource": f"topic{i}-0", "recovery_id": f"rec-{i}"}
            yield "recovery", recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, i, None, **missing)
            for error in errors:
                is_over = {"resource_kind": "group", "resource": f"group-{i % 5}", "recovery_id": f"rec-{i}-{error}"}
                yield "recovery", recovery(error, 21, 1, i, i + 0.5, **is_over)
            yield "stall", stall("produce", 21, 1, i, None, topic=f"topic{i}")
            yield "stall", stall("metadata", 21, None, i, i + 0.7, topic=None, partition=None)
            about = {"transactional_id": f"tx-{i}", "begin_ns": i * NS, "outcome": "aborted"}
            yield "transaction", row_of(TransactionRow, client_instance_id="ci-21", transaction_no=i, **about)

    return rows


@pytest.mark.parametrize(
    "scenario", ["denied", "not_let_in", "standing_still", "all_brokers_down", "never_served", "one_client"]
)
def test_calls_grow_with_the_rows(scenario: str, request: pytest.FixtureRequest) -> None:
    make: Callable[[int], Found] = request.getfixturevalue(scenario)
    few, many = calls(list(make(FEW))), calls(list(make(FEW * FACTOR)))
    assert many <= few * MOST_GROWTH, f"{few} calls for {FEW}, {many} for {FEW * FACTOR}"
