"""What the state machines over groups read: requests with their responses, and members that keep their place, as small
typed objects. They are made from rows of `events` (dataset.tables.group_events). Times are integer nanoseconds since
the epoch.
"""

from dataclasses import dataclass, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_parsers.schema import api_keys, api_name
from kafkascope_spark.stories.groups.bodies import GroupRequestBody, GroupResponseBody

Row = dict[str, Any]
Body = TypeVar("Body", GroupRequestBody, GroupResponseBody)

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


def group_request(row: Row) -> GroupRequest:
    """The request of an event of the kind group_request."""
    request = row["group_request"]
    error, answered = request["error_name"], request["status"] == "ok"
    return GroupRequest(
        request_id=request["request_id"],
        conn_id=row["conn_id"],
        client_id=request["client_id"],
        client_instance_id=row["client_instance_id"],
        close_ns=request["close_ns"],
        close_kind=request["close_kind"],
        node_id=request["node_id"],
        api_key=request["api_key"],
        ts_ns=row["ts_ns"],
        response_ns=(request["response_ns"] or row["ts_ns"]) if answered else None,
        error=None if not answered or error in (None, "NONE") else error,
        member_id=request["member_id"],
        group_instance_id=request["group_instance_id"],
        generation=request["generation_or_epoch"],
        body=_body(GroupRequestBody, request["request"]),
        response=_body(GroupResponseBody, request["response"] if answered else None),
    )


def _body(kind: type[Body], values: Row | None) -> Body:
    """The struct of an event as an object. There is one for each join of each client, so that only lists are looked
    at."""
    body = kind(**(_EMPTY[kind] if values is None else values))
    for name, element in _LISTS[kind]:
        setattr(body, name, tuple([element(**each) for each in getattr(body, name) or ()]))
    return body


def _lists_of(kind: type[Any]) -> tuple[tuple[str, type[Any]], ...]:
    """The fields that are lists of objects, each with the class of these."""
    hints = {name: get_args(hint) for name, hint in get_type_hints(kind).items() if get_origin(hint) is tuple}
    return tuple((name, inner) for name, (inner, _) in hints.items() if isinstance(inner, type) and is_dataclass(inner))


_BODIES = (GroupRequestBody, GroupResponseBody)
_LISTS = {kind: _lists_of(kind) for kind in _BODIES}
_EMPTY = {kind: dict.fromkeys(column_fields(kind)) for kind in _BODIES}


def member_activity(row: Row) -> MemberActivity:
    """The activity of an event of the kind group_member."""
    activity = dict(row["group_member"])
    return MemberActivity(
        conn_id=row["conn_id"],
        client_instance_id=row["client_instance_id"],
        ts_ns=row["ts_ns"],
        generation=activity.pop("generation_or_epoch"),
        **activity,
    )
