"""What happened to a group, as the structs of its events have it (dataset.tables.group_events)."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I16, I32


@dataclass(slots=True)
class OfferedProtocol:
    """An assignor of a JoinGroup, with what the member tells it."""

    name: str
    metadata: bytes | None


@dataclass(slots=True)
class GivenAssignment:
    """What a SyncGroup gives a member."""

    member_id: str
    assignment: bytes | None


@dataclass(slots=True)
class LeavingMember:
    """A member that a LeaveGroup takes out."""

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
    """Fields of a request of a group, whichever its API: Kafka's own names, null where the API lacks the field."""

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
    """Fields of the response. has_assignment: whether a heartbeat's response carries an assignment, be it an empty one;
    assigned_topics: its topics, by id where the capture does not show the name; standby_tasks: with warm-up tasks."""

    member_id: str | None
    generation_id: Annotated[int | None, I32]
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[ListedMember, ...]
    assignment: bytes | None
    member_epoch: Annotated[int | None, I32]
    heartbeat_interval_ms: Annotated[int | None, I32]
    has_assignment: bool | None
    assigned_topics: tuple[AssignedTopic, ...]
    active_tasks: tuple[AssignedTasks, ...]
    standby_tasks: tuple[AssignedTasks, ...]


@dataclass(slots=True)
class RequestEvent:
    """A request that forms or changes a group, that its coordinator refused, or that looked for the coordinator."""

    request_id: str
    client_id: str | None
    node_id: Annotated[int | None, I32]
    api_key: Annotated[int, I16]
    response_ns: int | None
    status: str
    error_name: str | None
    member_id: str | None
    group_instance_id: str | None
    generation_or_epoch: Annotated[int | None, I32]
    close_ns: int | None
    close_kind: str | None
    request: GroupRequestBody | None
    response: GroupResponseBody | None


@dataclass(slots=True)
class MemberEvent:
    """Requests without an error by which a member kept its place, of one generation or epoch on one connection."""

    request_id: str
    client_id: str | None
    node_id: Annotated[int | None, I32]
    api_key: Annotated[int, I16]
    member_id: str
    group_instance_id: str | None
    generation_or_epoch: Annotated[int, I32]
    last_ns: int
    n: int


@dataclass(slots=True)
class LagEvent:
    """The last offset that a generation committed for a topic-partition, and the end that was known by then."""

    generation_or_epoch: Annotated[int, I32]
    topic: str
    partition: Annotated[int, I32]
    committed_offset: int
    high_watermark: int


GroupEvent = RequestEvent | MemberEvent | LagEvent
GROUP_EVENTS = {"group_request": RequestEvent, "group_member": MemberEvent, "group_lag": LagEvent}
"""What the events of each kind become."""
