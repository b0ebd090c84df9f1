"""Member ids that a coordinator gave out and nobody used (KIP-394).

A new member gets an id with MEMBER_ID_REQUIRED, and has to join with it. Until it does so, or the session timeout is
over, the coordinator does not complete a rebalance of the group: a client that asks for two ids and joins with one of
them, or that ends in between, holds up all members.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.groups.table import RebalanceRow

_REQUIRED = "MEMBER_ID_REQUIRED"
SHORTEST_MS = 3_000
"""Shorter rebalances have waited for no session timeout (group.min.session.timeout.ms, 6 s by default)."""


@dataclass(frozen=True, slots=True)
class JoinRequest(Row):
    """A row of `requests` of JoinGroup. member_id: that of the request, or the one in the response."""

    TABLE: ClassVar[Table] = REQUESTS
    group_id: str
    member_id: str | None
    error_name: str | None
    ts_ns: int
    client_ip: str
    client_id: str | None
    request_packet_no: int | None


def has_waited_for_nobody(rebalance: RebalanceRow) -> bool:
    """Whether a rebalance went on for most of its time after the last member of the new generation had joined, and no
    member was lost."""
    joined = [member.joined_ns for member in rebalance.members if member.joined_ns is not None]
    if rebalance.end_ns is None or not joined or rebalance.lost or (rebalance.duration_ms or 0) < SHORTEST_MS:
        return False
    return 2 * (rebalance.end_ns - max(joined)) >= (rebalance.duration_ms or 0) * 1_000_000


def unused_ids(rebalance: RebalanceRow, requests: Iterable[JoinRequest]) -> list[JoinRequest]:
    """Returns the requests that got a member id with which nobody joined, and for which a rebalance may have waited, in
    order of time. requests: those of the group."""
    times: dict[str, list[JoinRequest]] = defaultdict(list)
    for row in requests:
        if row.member_id:
            times[row.member_id].append(row)
    given = (rows[0] for rows in times.values() if all(row.error_name == _REQUIRED for row in rows))
    session_ns = max((member.session_timeout_ms or 0 for member in rebalance.members), default=0) * 1_000_000
    last_ns = max(member.joined_ns or 0 for member in rebalance.members)
    first_ns = (rebalance.start_ns or last_ns) - session_ns
    waited = (row for row in given if first_ns <= row.ts_ns <= last_ns)
    return sorted(waited, key=lambda row: (row.ts_ns, str(row.member_id)))
