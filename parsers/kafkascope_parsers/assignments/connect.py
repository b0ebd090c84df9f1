"""Kafka Connect's group protocol: the connectors and tasks that a worker runs, and those that the leader assigns.

Sources: org.apache.kafka.connect.runtime.distributed.ConnectProtocol (version 0: eager) and
IncrementalCooperativeConnectProtocol (versions 1, 2: `compatible`, `sessioned`; KIP-415, KIP-507). A worker's metadata
is version, url, config offset and, from version 1 on, its current assignment as bytes; an assignment is version, error,
leader, leader's url, config offset, connectors with their tasks and, from version 1 on, the same for those that are
revoked, and a delay.
"""

from kafkascope_parsers.assignments.cursor import Cursor
from kafkascope_parsers.errors import DecodeError

CONNECTOR = -1
"""The task number that means the connector itself (ConnectProtocol.CONNECTOR_TASK)."""
COOPERATIVE_VERSION = 1


def connect_owned(raw: bytes) -> tuple[str, ...]:
    """Connectors (`name`) and tasks (`name-0`) that a worker runs, as it states. Raises DecodeError."""
    cursor = Cursor(raw)
    version = _version(cursor)
    cursor.skip_string()
    cursor.signed(8)
    if version < COOPERATIVE_VERSION or not cursor.left:
        return ()
    current = cursor.blob()
    return connect_assignment(current)[0] if current else ()


def connect_assignment(raw: bytes) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Connectors and tasks that are assigned, those that are revoked, and whether the former are only additions: an
    eager worker gets all of its tasks, a cooperative one only those that it does not have yet
    (IncrementalCooperativeAssignor). Raises DecodeError."""
    cursor = Cursor(raw)
    version = _version(cursor)
    cursor.signed(2)
    cursor.skip_string()
    cursor.skip_string()
    cursor.signed(8)
    cooperative = version >= COOPERATIVE_VERSION
    given = _connectors(cursor, nullable=cooperative)
    if not cooperative or not cursor.left:
        return given, (), cooperative
    return given, _connectors(cursor, nullable=True), True


def _version(cursor: Cursor) -> int:
    version = cursor.signed(2)
    if version < 0:
        raise DecodeError(f"version {version} of Connect's group protocol")
    return version


def _connectors(cursor: Cursor, *, nullable: bool) -> tuple[str, ...]:
    found: list[str] = []
    for _ in range(cursor.count(6, nullable=nullable)):
        name = cursor.name()
        tasks = [cursor.signed(4) for _ in range(cursor.count(4))]
        found += [name if task == CONNECTOR else f"{name}-{task}" for task in tasks]
    return tuple(found)
