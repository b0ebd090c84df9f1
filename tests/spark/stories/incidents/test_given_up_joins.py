"""JoinGroup that clients give up while the coordinator waits for others
(https://github.com/zendesk/ruby-kafka/issues/941)."""

from collections.abc import Collection
from dataclasses import replace

import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import JOIN_GROUP, SYNC_GROUP
from kafkascope_spark.stories.groups.table import GroupMember
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.groups.given_up_joins import BEFORE_NS, LEAST, give_given_up
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.incidents.table import IncidentRow

from .conftest import NS, MakeRow, row_of


class Unanswered(Packets):
    """Has these requests without a response."""

    def __init__(self, rows: list[UnansweredRequest]) -> None:
        super().__init__()
        self._rows = rows

    def unanswered(self, until_ns: int, keys: Collection[int]) -> list[UnansweredRequest]:
        return [row for row in self._rows if row.ts_ns <= until_ns and row.api_key in keys]


def joins(n: int, waited_s: int, *, given_up: bool = True, group_id: str = "orders-app") -> list[UnansweredRequest]:
    """So many JoinGroup requests from 10 s on, one after the other."""
    rows = []
    for i in range(n):
        begin = (10 + i * waited_s) * NS
        row = {"request_id": f"join-{i}", "api_key": JOIN_GROUP, "api_name": "JoinGroup", "ts_ns": begin}
        row |= {"group_id": group_id, "client_id": "ruby", "client_ip": "10.0.0.21", "status": "unanswered"}
        made = row_of(UnansweredRequest, **row, response_ns=None)
        rows.append(replace(made, until_ns=begin + waited_s * NS, given_up=given_up))
    return rows


@pytest.mark.parametrize("sends", [False, True], ids=["is silent", "is not answered"])
def test_a_leader_that_does_not_assign_is_named(
    rebalance: MakeRow, client: MakeRow, stall: MakeRow, sends: bool
) -> None:
    """https://issues.apache.org/jira/browse/KAFKA-12890: w-1 leads the generation, and sends no SyncGroup."""
    conns = ("c1", "c2") if sends else ("c2",)
    row = {"api_key": SYNC_GROUP, "api_name": "SyncGroup", "group_id": "orders-app", "status": "unanswered"}
    held = [row_of(UnansweredRequest, **row, request_id=conn, conn_id=conn, ts_ns=15 * NS) for conn in conns]
    machine = Incidents(0, packets=Unanswered([replace(each, until_ns=FOREVER) for each in held]))
    members = tuple(
        row_of(GroupMember, member_id=f"w-{i}", client_id=f"w-{i}", client_instance_id=f"ci-2{i}", conn_id=f"c{i}")
        for i in (1, 2)
    )
    members = tuple(replace(member, joined_ns=14 * NS, join_ms=500) for member in members)
    made = replace(rebalance(14, None), members=members, leader="w-1", generation=8, outcome="stable")
    for each in (stall("consume", 21, 1, 14, None, group_id="orders-app"), made, client(21)):
        machine.take(each)
    (incident,) = batch_of_rows(IncidentRow, [r for r in machine.finish() if isinstance(r, IncidentRow)]).to_pylist()
    is_named = "w-1 (10.0.0.21), the leader of generation 8, has sent no SyncGroup" in incident["sentence"]
    assert (incident["kind"], is_named) == ("member", not sends)
    assert ("Restart w-1 (10.0.0.21)" in advised(incident)) == (not sends)


@pytest.mark.parametrize(
    ("last_s", "found"),
    [(60, True), (14.5, False), (30, False)],
    ids=["most of the rebalance", "half a second", "some of the rebalance"],
)
def test_the_member_that_the_others_waited_for_is_named(
    recovery: MakeRow, rebalance: MakeRow, client: MakeRow, stall: MakeRow, last_s: float, found: bool
) -> None:
    """Two members join at once, and the third at its next poll."""
    machine = Incidents(0)
    joins = (("w-1", 14), ("w-2", 14.2), ("w-3", last_s))
    members = tuple(row_of(GroupMember, client_id=name, joined_ns=int(at * NS)) for name, at in joins)
    made = replace(rebalance(14, 68), members=members, duration_ms=54_000)
    for row in (stall("consume", 21, 1, 14, 68, group_id="orders-app"), made, client(21)):
        machine.take(row)
    told = [row for row in machine.finish() if isinstance(row, IncidentRow)]
    (incident,) = batch_of_rows(IncidentRow, told).to_pylist()
    assert incident["kind"] == "member"
    assert ("w-3 joined again 45.8 s after the other members, which waited for it" in incident["sentence"]) is found
    assert ("Look at what the application of w-3 did" in advised(incident)) is found


@pytest.mark.parametrize("end_s", [68, None])
def test_a_rebalance_that_is_not_over_is_not_told_as_one_that_was(
    rebalance: MakeRow, client: MakeRow, stall: MakeRow, end_s: int | None
) -> None:
    machine = Incidents(0)
    for row in (stall("consume", 21, 1, 14, end_s, group_id="orders-app"), rebalance(14, end_s), client(21)):
        machine.take(row)
    told = [row for row in machine.finish() if isinstance(row, IncidentRow)]
    (incident,) = batch_of_rows(IncidentRow, told).to_pylist()
    assert incident["kind"] == "member"
    assert ("some member had not joined again" in advised(incident)) is (end_s is None)
    assert ("had stopped reading and joined again" in advised(incident)) is (end_s is not None)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (joins(5, 10), True),
        (joins(1, 10), False),
        (joins(5, 1), False),
        (joins(5, 10, given_up=False), False),
        (joins(5, 10, group_id="other"), False),
    ],
)
def test_a_member_that_does_not_wait_for_the_others_is_told_to(
    recovery: MakeRow, rebalance: MakeRow, client: MakeRow, stall: MakeRow, rows: list[UnansweredRequest], found: bool
) -> None:
    machine = Incidents(0, packets=Unanswered(rows))
    waited = stall("consume", 21, 1, 14, 68, group_id="orders-app")
    for row in (waited, rebalance(14, 68), client(21, rebalance_timeout_ms=60_000)):
        machine.take(row)
    told = [row for row in machine.finish() if isinstance(row, IncidentRow)]
    (incident,) = batch_of_rows(IncidentRow, told).to_pylist()
    assert incident["kind"] == "member"
    assert ("ruby (10.0.0.21) stopped waiting for the response to JoinGroup 5 times" in incident["sentence"]) is found
    assert ("each time after 10.0 s (median)" in incident["sentence"]) is found
    assert ("longer than the rebalance timeout (60000 ms here)" in advised(incident)) is found


@pytest.mark.parametrize(
    ("start_s", "n", "found"),
    [
        (14, LEAST, True),
        (14, LEAST - 1, False),
        (10 + BEFORE_NS / NS, LEAST, True),
        (31 + BEFORE_NS / NS, LEAST, False),
    ],
)
def test_requests_of_the_group_that_were_given_up_by_then(
    rebalance: MakeRow, start_s: float, n: int, found: bool
) -> None:
    """They begin at 10 s and last 10 s each."""
    failure = Failure(MEMBER, "group orders-app", int(start_s * NS), None, rebalances=[rebalance(14, 68)])
    client = Failure(CLIENT, "client-21", int(start_s * NS), None, rebalances=[rebalance(14, 68)])
    give_given_up([failure, client], Unanswered(joins(n, 10)))
    assert [row.request_id for row in failure.members.given_up_joins] == [f"join-{i}" for i in range(n * found)]
    assert client.members.given_up_joins == []
