"""`read_metadata` and `read_assignment`: what the bytes say, by the group's protocol type.

`consumer`: ConsumerProtocolSubscription and ConsumerProtocolAssignment of Kafka's message definitions, versions 0-3. A
2-byte version stands before them; a newer version is read as the newest known and what follows is left alone, as
Kafka's ConsumerProtocol does. Streams uses them too and adds user data (streams.py). `connect`: ConnectProtocol and
IncrementalCooperativeConnectProtocol (connect.py). Other types (schema registries, own ones) are not known: nothing is
read.
"""

from dataclasses import dataclass

from kafkascope_parsers.assignments.connect import connect_assignment, connect_owned
from kafkascope_parsers.assignments.cursor import Cursor
from kafkascope_parsers.assignments.streams import standby_tasks
from kafkascope_parsers.errors import DecodeError

CONSUMER, CONNECT = "consumer", "connect"
STREAMS_ASSIGNOR = "stream"
"""The name of Kafka Streams' assignor (StreamsPartitionAssignor.name), the only one whose user data is read."""
OWNED_VERSION, GENERATION_VERSION = 1, 2
"""First versions of a subscription with owned partitions (KIP-429) and with the generation that they are of."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a member says when it joins."""

    topics: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    """Topic-partitions (connectors and tasks for connect) that it goes on with: not empty only where members do not
    give up everything before they join."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """What the leader gives a member."""

    items: tuple[str, ...] = ()
    """Topic-partitions as `topic-0`; connectors as `name`, their tasks as `name-0`; sorted as they come."""
    standby: tuple[str, ...] = ()
    """Tasks whose state it keeps a copy of (Streams), as `0_1`."""
    revoked: tuple[str, ...] = ()
    """Connectors and tasks that it has to give up (connect)."""
    is_change: bool = False
    """Whether items are only what is new: the member keeps what it said it owns, but for what is revoked (Connect's
    cooperative protocols)."""


def read_metadata(protocol_type: str | None, raw: bytes) -> Wanted | None:
    """What a member's metadata of JoinGroup says; None for a protocol type that is not known. Raises DecodeError."""
    if protocol_type == CONSUMER:
        return _subscription(Cursor(raw))
    if protocol_type == CONNECT:
        return Wanted((), connect_owned(raw))
    return None


def read_assignment(protocol_type: str | None, raw: bytes, assignor: str | None = None) -> Assigned | None:
    """What an assignment of SyncGroup says; None for a protocol type that is not known. No bytes are no assignment:
    what a broker answers when the leader gave the member nothing. Raises DecodeError."""
    if protocol_type == CONSUMER:
        return _assignment(Cursor(raw), assignor) if raw else Assigned()
    if protocol_type == CONNECT:
        items, revoked, is_change = connect_assignment(raw) if raw else ((), (), False)
        return Assigned(items, (), revoked, is_change)
    return None


def _version(cursor: Cursor) -> int:
    version = cursor.signed(2)
    if version < 0:
        raise DecodeError(f"version {version} of a consumer protocol message")
    return version


def _subscription(cursor: Cursor) -> Wanted:
    version = _version(cursor)
    topics = tuple(cursor.name() for _ in range(cursor.count(2)))
    cursor.blob()
    owned = _topic_partitions(cursor) if version >= OWNED_VERSION else ()
    if version >= GENERATION_VERSION:
        cursor.signed(4)
    if version > GENERATION_VERSION:
        cursor.skip_string()
    return Wanted(topics, owned)


def _assignment(cursor: Cursor, assignor: str | None) -> Assigned:
    _version(cursor)
    items = _topic_partitions(cursor)
    user_data = cursor.blob()
    if assignor == STREAMS_ASSIGNOR and user_data:
        return Assigned(items, standby_tasks(user_data))
    return Assigned(items)


def _topic_partitions(cursor: Cursor) -> tuple[str, ...]:
    found: list[str] = []
    for _ in range(cursor.count(6)):
        topic = cursor.name()
        found += [f"{topic}-{cursor.signed(4)}" for _ in range(cursor.count(4))]
    return tuple(found)
