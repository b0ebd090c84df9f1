"""What the state machines over groups read: requests with their responses, and members that keep their place, as small
typed objects. They are made from rows of `events` (dataset.tables.group_events). Times are integer nanoseconds since
the epoch.
"""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_parsers.schema import api_keys, api_name
from kafkascope_spark.stories.groups.bodies import GroupRequestBody, GroupResponseBody, MemberEvent, RequestEvent
from kafkascope_spark.stories.keyed import Origin

_KEYS = {api_name(key): key for key in api_keys()}
JOIN_GROUP, SYNC_GROUP, LEAVE_GROUP = _KEYS["JoinGroup"], _KEYS["SyncGroup"], _KEYS["LeaveGroup"]
HEARTBEAT, OFFSET_COMMIT, FIND_COORDINATOR = _KEYS["Heartbeat"], _KEYS["OffsetCommit"], _KEYS["FindCoordinator"]
CONSUMER_GROUP_HEARTBEAT = _KEYS["ConsumerGroupHeartbeat"]
SHARE_GROUP_HEARTBEAT = _KEYS["ShareGroupHeartbeat"]
STREAMS_GROUP_HEARTBEAT = _KEYS["StreamsGroupHeartbeat"]
COMMITS = (OFFSET_COMMIT, _KEYS["TxnOffsetCommit"])

REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
STALE_MEMBER = (UNKNOWN_MEMBER_ID, "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH")
FENCED_INSTANCE = ("FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID")


@dataclass(slots=True)
class GroupRequest:
    """A request of a group with its response, if there is one."""

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
    """Name of the error of the response; None for success and without a response."""
    member_id: str | None
    group_instance_id: str | None
    generation: int | None
    body: GroupRequestBody
    """Fields of the request; empty where the capture does not have them."""
    response: GroupResponseBody
    """Fields of the response; empty where the capture does not have them."""

    @property
    def ok(self) -> bool:
        """Whether the response reports success."""
        return self.response_ns is not None and self.error is None

    @property
    def member(self) -> str:
        """The member that it is about: as the response names it, else the request."""
        return self.response.member_id or self.body.member_id or self.member_id or ""

    @property
    def last_ns(self) -> int:
        """When the member was last observed in it."""
        return self.ts_ns


@dataclass(frozen=True, slots=True)
class MemberActivity:
    """Requests without an error by which a member kept its place, of one generation or epoch on one connection."""

    request_id: str
    """The first of them."""
    conn_id: str
    client_id: str | None
    client_instance_id: str | None
    node_id: int | None
    api_key: int
    member_id: str
    group_instance_id: str | None
    generation: int
    ts_ns: int
    last_ns: int
    n: int

    @property
    def member(self) -> str:
        """The member that it is about."""
        return self.member_id


def group_request(event: RequestEvent, origin: Origin) -> GroupRequest:
    """The request of an event."""
    ts_ns = origin.ts_ns
    error, answered = event.error_name, event.status == "ok"
    return GroupRequest(
        request_id=event.request_id,
        conn_id=origin.conn_id,
        client_id=event.client_id,
        client_instance_id=origin.client_instance_id,
        close_ns=event.close_ns,
        close_kind=event.close_kind,
        node_id=event.node_id,
        api_key=event.api_key,
        ts_ns=ts_ns,
        response_ns=(event.response_ns or ts_ns) if answered else None,
        error=None if not answered or error in (None, "NONE") else error,
        member_id=event.member_id,
        group_instance_id=event.group_instance_id,
        generation=event.generation_or_epoch,
        body=event.request or _NO_REQUEST,
        response=(event.response if answered else None) or _NO_RESPONSE,
    )


_NO_REQUEST, _NO_RESPONSE = empty_row(GroupRequestBody), empty_row(GroupResponseBody)


def member_activity(event: MemberEvent, origin: Origin) -> MemberActivity:
    """The activity of an event."""
    return MemberActivity(
        request_id=event.request_id,
        conn_id=origin.conn_id,
        client_id=event.client_id,
        client_instance_id=origin.client_instance_id,
        node_id=event.node_id,
        api_key=event.api_key,
        member_id=event.member_id,
        group_instance_id=event.group_instance_id,
        generation=event.generation_or_epoch,
        ts_ns=origin.ts_ns,
        last_ns=event.last_ns,
        n=event.n,
    )
