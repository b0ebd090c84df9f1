"""`read_metadata` and `read_assignment` read the bytes by the group's protocol type.

`consumer`: ConsumerProtocolSubscription and ConsumerProtocolAssignment, decoded by Kafka's message definitions
(schema.by_definition). A 2-byte version precedes them. A newer version is read as the newest known one and the
remaining bytes are ignored, as Kafka's ConsumerProtocol does. Streams uses them too and adds user data (streams.py).
`connect`: ConnectProtocol and IncrementalCooperativeConnectProtocol (connect.py), for which Kafka has no message
definitions. Other types (of schema registries or applications) are not read.
"""

from dataclasses import dataclass
from typing import Any

from kafkascope_parsers.assignments.connect import connect_assignment, connect_owned
from kafkascope_parsers.assignments.cursor import MAX_ITEMS, MAX_NAME_BYTES
from kafkascope_parsers.assignments.streams import standby_tasks
from kafkascope_parsers.errors import DecodeError
from kafkascope_parsers.schema import data_message_type
from kafkascope_parsers.schema.by_definition import decode_by_definition

CONSUMER, CONNECT = "consumer", "connect"
STREAMS_ASSIGNOR = "stream"
"""The name of Kafka Streams' assignor (StreamsPartitionAssignor.name), the only one whose user data is read."""
_SUBSCRIPTION, _ASSIGNMENT = "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The data of a member that joins."""

    topics: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    """Topic-partitions (connectors and tasks for connect) that it keeps: not empty only if members do not give up
    everything before they join."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The leader's assignment for a member."""

    items: tuple[str, ...] = ()
    """Topic-partitions as `topic-0`; connectors as `name`, their tasks as `name-0`; sorted as they come."""
    standby: tuple[str, ...] = ()
    """Tasks of whose state it keeps a copy (Streams), as `0_1`."""
    revoked: tuple[str, ...] = ()
    """Connectors and tasks that it has to give up (connect)."""
    is_change: bool = False
    """Whether items are only additions: the member keeps the items that it stated to own, except those that are revoked
    (Connect's cooperative protocols)."""


def read_metadata(protocol_type: str | None, raw: bytes) -> Wanted | None:
    """Reads a member's metadata in JoinGroup; None for an unknown protocol type. Raises DecodeError."""
    if protocol_type == CONSUMER:
        return _subscription(raw)
    if protocol_type == CONNECT:
        return Wanted((), connect_owned(raw))
    return None


def read_assignment(protocol_type: str | None, raw: bytes, assignor: str | None = None) -> Assigned | None:
    """Reads an assignment in SyncGroup; None for an unknown protocol type. Empty bytes are an empty assignment: brokers
    send them if the leader assigned nothing to the member. Raises DecodeError."""
    if protocol_type == CONSUMER:
        return _assignment(raw, assignor) if raw else Assigned()
    if protocol_type == CONNECT:
        items, revoked, is_change = connect_assignment(raw) if raw else ((), (), False)
        return Assigned(items, (), revoked, is_change)
    return None


def _body(name: str, raw: bytes) -> dict[str, Any]:
    """The fields of a message of the consumer protocol, which follow its version."""
    message = data_message_type(name)
    version = int.from_bytes(raw[:2], "big", signed=True)
    if message is None or len(raw) < 2 or version < 0:
        raise DecodeError(f"version {version} of {name} in {len(raw)} bytes")
    known = min(version, message.versions[1])
    body: dict[str, Any] = decode_by_definition(message, raw[2:], known, allow_rest=True)["body"]
    return body


def _subscription(raw: bytes) -> Wanted:
    body = _body(_SUBSCRIPTION, raw)
    topics = tuple(_topic(name) for name in _list(body["topics"]))
    return Wanted(topics, _topic_partitions(body.get("owned_partitions", [])))


def _assignment(raw: bytes, assignor: str | None) -> Assigned:
    body = _body(_ASSIGNMENT, raw)
    items = _topic_partitions(body["assigned_partitions"])
    if assignor == STREAMS_ASSIGNOR and body["user_data"]:
        return Assigned(items, standby_tasks(body["user_data"]))
    return Assigned(items)


def _topic_partitions(topics: list[dict[str, Any]] | None) -> tuple[str, ...]:
    """Topic-partitions as texts; each repeats its topic, so their number is limited before any is made."""
    lists = [(_topic(one["topic"]), _list(one["partitions"])) for one in _list(topics)]
    if sum(len(partitions) for _, partitions in lists) > MAX_ITEMS:
        raise DecodeError(f"more than {MAX_ITEMS} partitions of one member")
    return tuple(f"{topic}-{partition}" for topic, partitions in lists for partition in partitions)


def _list(values: list[Any] | None) -> list[Any]:
    """An array that may not be null."""
    if values is None:
        raise DecodeError("null, where an array has to be")
    return values


def _topic(name: str | None) -> str:
    if name is None or len(name.encode()) > MAX_NAME_BYTES:
        raise DecodeError("a topic without a name, or with one that is longer than names of topics are")
    return name
