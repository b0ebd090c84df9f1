"""Events of a group. Their key is the group id."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32, empty_row
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE, Event, event_kind
from kafkascope_analyzer.dataset.tables.requests import PARTITIONS, REQUESTS


@dataclass(slots=True)
class OfferedProtocol:
    """An assignor in a JoinGroup, with the member's metadata for it."""

    name: str
    metadata: bytes | None


@dataclass(slots=True)
class GivenAssignment:
    """The assignment of a member in a SyncGroup."""

    member_id: str
    assignment: bytes | None


@dataclass(slots=True)
class LeavingMember:
    """A member that a LeaveGroup removes."""

    member_id: str | None
    group_instance_id: str | None
    reason: str | None


@dataclass(slots=True)
class ListedMember:
    """A member in the response to the leader's JoinGroup."""

    member_id: str
    group_instance_id: str | None


@dataclass(slots=True)
class AssignedTopic:
    """Partitions of a topic that a heartbeat's response assigns."""

    topic: str
    partitions: Annotated[tuple[int, ...], I32]


@dataclass(slots=True)
class AssignedTasks:
    """Tasks of a subtopology that a heartbeat's response assigns."""

    subtopology_id: str
    partitions: Annotated[tuple[int, ...], I32]


@dataclass(slots=True)
class GroupRequestBody:
    """Fields of a request of a group, for all of its APIs: Kafka's own names, null where the API lacks the field."""

    member_id: str | None
    session_timeout_ms: Annotated[int | None, I32]
    rebalance_timeout_ms: Annotated[int | None, I32]
    protocol_type: str | None
    protocol_name: str | None
    reason: str | None
    protocols: tuple[OfferedProtocol, ...]
    assignments: tuple[GivenAssignment, ...]
    leaving_members: tuple[LeavingMember, ...]
    member_epoch: Annotated[int | None, I32]
    subscribed_topics: tuple[str, ...] | None
    subscribed_regex: str | None


@dataclass(slots=True)
class GroupResponseBody:
    """Fields of the response to a request of a group."""

    member_id: str | None
    generation_id: Annotated[int | None, I32]
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[ListedMember, ...]
    assignment: bytes | None
    member_epoch: Annotated[int | None, I32]
    heartbeat_interval_ms: Annotated[int | None, I32]
    has_assignment: Annotated[bool | None, "whether a heartbeat's response contains an assignment, even an empty one"]
    assigned_topics: Annotated[
        tuple[AssignedTopic, ...], "assigned topics; by id where the capture does not show the name"
    ]
    active_tasks: tuple[AssignedTasks, ...]
    standby_tasks: Annotated[tuple[AssignedTasks, ...], "with warm-up tasks"]


_NO_RESPONSE = empty_row(GroupResponseBody)


@dataclass(slots=True, kw_only=True)
class MemberEvent(Event):
    """A request of a group's member. The fields with defaults are set by the state machine that reads it."""

    conn_id: str = ""
    ts_ns: int = 0
    client_instance_id: str | None = None


@event_kind(
    "group_request",
    "a request that forms or changes a group (JoinGroup, SyncGroup, LeaveGroup, heartbeats with an "
    "epoch that change something), that the group's coordinator refused (Heartbeat, commits), or that"
    " looks for the coordinator",
    key_kind="group",
)
@dataclass(slots=True)
class GroupRequest(MemberEvent):
    """A request of a group with its response, if there is one. Bodies are empty where the capture does not have
    them."""

    request_id: Annotated[str, REQUESTS]
    client_id: Annotated[str | None, REQUESTS]
    node_id: Annotated[int | None, REQUESTS]
    api_key: Annotated[int, REQUESTS]
    response_ns: Annotated[int | None, REQUESTS, "last byte of the response"]
    status: Annotated[str, REQUESTS]
    error_name: Annotated[str | None, REQUESTS]
    member_id: Annotated[str | None, REQUESTS]
    group_instance_id: Annotated[str | None, REQUESTS]
    generation_or_epoch: Annotated[int | None, REQUESTS]
    close_ns: Annotated[int | None, "when its connection ended"]
    close_kind: Annotated[str | None, "how its connection ended"]
    request: Annotated[GroupRequestBody, "body of the request"]
    response: Annotated[GroupResponseBody, "body of the response"]

    def __post_init__(self) -> None:
        """Treats a response that could not be read as missing."""
        if self.status != "ok":
            self.response_ns, self.response = None, _NO_RESPONSE

    @property
    def generation(self) -> int | None:
        """Generation or member epoch of the request."""
        return self.generation_or_epoch

    @property
    def error(self) -> str | None:
        """Name of the error of the response; None for success and without a response."""
        return None if self.status != "ok" or self.error_name == "NONE" else self.error_name

    @property
    def ok(self) -> bool:
        """Whether the response reports success."""
        return self.status == "ok" and self.error is None

    @property
    def member(self) -> str:
        """The member id in the response, else in the request."""
        return self.response.member_id or self.request.member_id or self.member_id or ""

    @property
    def last_ns(self) -> int:
        """The last time at which the event shows the member."""
        return self.ts_ns


@event_kind(
    "group_member",
    "successful requests by which a member kept its membership in one generation, by API and connection",
    key_kind="group",
)
@dataclass(slots=True)
class MemberActivity(MemberEvent):
    """Successful requests by which a member kept its membership, of one generation or epoch on one connection."""

    request_id: Annotated[str, "the first of the requests"]
    client_id: Annotated[str | None, REQUESTS]
    node_id: Annotated[int | None, REQUESTS]
    api_key: Annotated[int, REQUESTS]
    member_id: Annotated[str, REQUESTS, "member id"]
    group_instance_id: Annotated[str | None, REQUESTS]
    generation_or_epoch: Annotated[int, REQUESTS, "generation or member epoch"]
    last_ns: Annotated[int, "time of the last of these requests"]
    n: Annotated[int, "how many"]

    @property
    def generation(self) -> int:
        """Generation or member epoch of these requests."""
        return self.generation_or_epoch

    @property
    def member(self) -> str:
        """The member id."""
        return self.member_id


@event_kind(
    "group_lag",
    "the last offset that a generation committed for a topic-partition, and the highest high watermark that responses "
    "to Fetch on any connection had reported by the end of that second",
    key_kind="group",
    section=WHOLE,
)
@dataclass(slots=True)
class GroupLag(Event):
    """The last commit of a generation for a topic-partition, with a high watermark that was reported by then."""

    generation_or_epoch: Annotated[int, REQUESTS, "the generation or member epoch"]
    topic: Annotated[str, PARTITIONS]
    partition: Annotated[int, PARTITIONS]
    committed_offset: Annotated[int, "last committed offset"]
    high_watermark: Annotated[int, PARTITIONS]


GroupEvent = GroupRequest | MemberActivity | GroupLag
