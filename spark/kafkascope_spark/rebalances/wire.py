"""What the state machines over groups are fed: requests of a group with what they asked and were told, and the members
that were heard of, as small typed objects. Times are integer nanoseconds since the epoch.
"""

from dataclasses import dataclass
from typing import Any

from kafkascope_spark import wire

Row = dict[str, Any]

BEATS = {
    wire.CONSUMER_GROUP_HEARTBEAT: "consumer",
    wire.SHARE_GROUP_HEARTBEAT: "share",
    wire.STREAMS_GROUP_HEARTBEAT: "streams",
}
"""Heartbeats that carry the whole protocol (KIP-848, KIP-932, KIP-1071), and the group protocol of each."""
COMMITS = (wire.OFFSET_COMMIT, wire.TXN_OFFSET_COMMIT)
STALE_MEMBER = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH")
FENCED_INSTANCE = ("FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID")
REBALANCING = "REBALANCE_IN_PROGRESS"
ELSEWHERE = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
REFUSALS = (REBALANCING, *STALE_MEMBER, *FENCED_INSTANCE)
"""Errors by which a coordinator refuses a member's commit because the group has moved on."""


@dataclass(slots=True)
class Exchange:
    """A request of a group with its answer, if there is one."""

    request_id: str
    conn_id: str
    client_id: str | None
    client_instance_id: str | None
    close_ns: int | None
    """When its connection ended, and how."""
    close_kind: str | None
    node_id: int | None
    api_key: int
    ts_ns: int
    response_ns: int | None
    error: str | None
    """Name of the error of the answer; None for success and without an answer."""
    member_id: str | None
    group_instance_id: str | None
    generation: int | None
    asked: Row
    """Fields of the message, as events.ASKED and events.TOLD say; empty where they are not in the dataset."""
    told: Row

    @property
    def answered(self) -> bool:
        """Whether the capture has the answer."""
        return self.response_ns is not None

    @property
    def ok(self) -> bool:
        """Whether the answer is a success."""
        return self.answered and self.error is None

    @property
    def member(self) -> str:
        """The member that it is about: as the answer names it, else the request."""
        return self.told.get("member_id") or self.asked.get("member_id") or self.member_id or ""


@dataclass(frozen=True, slots=True)
class Heard:
    """Requests without an error by which a member kept its place, of one generation or epoch on one connection."""

    conn_id: str
    client_id: str | None
    client_instance_id: str | None
    node_id: int | None
    api_key: int
    member_id: str
    group_instance_id: str | None
    generation: int
    first_ns: int
    last_ns: int
    n: int
    request_id: str
    """The first of them."""


def exchange_of(row: Row) -> Exchange:
    """The exchange of an event's row (events.group_events)."""
    request = row["request"]
    error = request["error_name"]
    answered = request["status"] == "ok"
    return Exchange(
        request_id=request["request_id"],
        conn_id=row["conn_id"],
        client_id=row["client_id"],
        client_instance_id=row["client_instance_id"],
        close_ns=row["close_ns"],
        close_kind=row["close_kind"],
        node_id=row["node_id"],
        api_key=request["api_key"],
        ts_ns=row["ts_ns"],
        response_ns=(request["response_ns"] or row["ts_ns"]) if answered else None,
        error=None if not answered or error in (None, "NONE") else error,
        member_id=request["member_id"],
        group_instance_id=request["group_instance_id"],
        generation=request["generation"],
        asked=row["asked"] or {},
        told=(row["told"] or {}) if answered else {},
    )


def heard_of(row: Row) -> Heard:
    """The member heard of in an event's row."""
    heard = row["heard"]
    return Heard(
        conn_id=row["conn_id"],
        client_id=row["client_id"],
        client_instance_id=row["client_instance_id"],
        node_id=row["node_id"],
        api_key=heard["api_key"],
        member_id=heard["member_id"],
        group_instance_id=heard["group_instance_id"],
        generation=heard["generation"],
        first_ns=row["ts_ns"],
        last_ns=heard["last_ns"],
        n=heard["n"],
        request_id=heard["request_id"],
    )
