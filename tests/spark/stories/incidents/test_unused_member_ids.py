"""Member ids that a coordinator gave out, and for which the group waited
(https://github.com/confluentinc/librdkafka/issues/5569)."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_spark.stories.groups.table import GroupMember
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.groups.given_member_ids import give_unused_ids
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.unused_member_ids import JoinRequest
from kafkascope_spark.stories.incidents.table import IncidentRow

from .advised import advised
from .conftest import NS, MakeRow, row_of


class Joins(Packets):
    """Has these JoinGroup requests."""

    def __init__(self, rows: list[JoinRequest]) -> None:
        super().__init__()
        self._rows = rows

    def joins(self, group_ids: Collection[str]) -> list[JoinRequest]:
        return [row for row in self._rows if row.group_id in group_ids]


def asked(member_id: str, at_s: float, error: str = "MEMBER_ID_REQUIRED") -> JoinRequest:
    own = {"client_id": "w-3", "client_ip": "10.0.0.23", "request_packet_no": 7}
    return row_of(
        JoinRequest, group_id="orders-app", member_id=member_id, error_name=error, ts_ns=int(at_s * NS), **own
    )


@pytest.mark.parametrize(
    ("requests", "end_s", "named"),
    [
        ([asked("w-3-a", 10), asked("w-3-b", 10.1), asked("w-3-b", 10.2, "NONE")], 55, True),
        ([asked("w-3-b", 10.1), asked("w-3-b", 10.2, "NONE")], 55, False),
        ([asked("w-3-a", 10), asked("w-3-b", 10.1), asked("w-3-b", 10.2, "NONE")], 12.4, False),
        ([asked("w-3-a", 20), asked("w-3-b", 10.1), asked("w-3-b", 10.2, "NONE")], 55, False),
    ],
    ids=["one of two", "its only one", "for a moment", "when all had joined"],
)
def test_a_member_id_that_nobody_joins_with_holds_the_group_up(
    rebalance: MakeRow, client: MakeRow, stall: MakeRow, requests: list[JoinRequest], end_s: float, named: bool
) -> None:
    members = tuple(
        replace(
            row_of(GroupMember, member_id=f"w-{i}-b", client_id=f"w-{i}", client_instance_id=f"ci-2{i}", conn_id="c1"),
            joined_ns=11 * NS,
            session_timeout_ms=45_000,
        )
        for i in (1, 2, 3)
    )
    made = replace(rebalance(10, end_s), members=members, duration_ms=int((end_s - 10) * 1_000))
    machine = Incidents(0, packets=Joins(requests))
    for each in (stall("consume", 21, 1, 11, end_s, group_id="orders-app"), made, client(21)):
        machine.take(each)
    (incident,) = batch_of_rows(IncidentRow, [r for r in machine.finish() if isinstance(r, IncidentRow)]).to_pylist()
    waits = "the coordinator still waited for the member id w-3-a, which it had given to w-3 (10.0.0.23) at 00:10.000"
    assert (waits in incident["sentence"]) == named
    assert ("Update the library of w-3 (10.0.0.23)" in advised(incident)) == named


def test_only_failures_of_members_ask_for_the_ids_of_their_groups(rebalance: MakeRow) -> None:
    """A failure that follows from another one is explained by that. All had joined at 11 s, and the rebalance went on
    until 55 s."""
    joined = replace(row_of(GroupMember, member_id="w-1"), joined_ns=11 * NS, session_timeout_ms=45_000)
    waited = replace(rebalance(10, 55), members=(joined,), duration_ms=45_000)
    failures = [
        Failure(kind, "group orders-app", 10 * NS, None, rebalances=[waited]) for kind in (MEMBER, MEMBER, CLIENT)
    ]
    failures[1].root = failures[2]
    other_group = replace(asked("w-4-a", 10), group_id="billing")
    give_unused_ids(failures, Joins([asked("w-3-a", 10), other_group]))
    assert [[row.member_id for row in each.members.unused_ids] for each in failures] == [["w-3-a"], [], []]
