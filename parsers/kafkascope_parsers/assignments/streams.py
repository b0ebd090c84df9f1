"""Kafka Streams' user data in an assignment: the standby tasks, which its partitions do not show.

Source: org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo, versions 1-11: version, from version 3
on the latest version that all members know, active tasks, standby tasks with their changelog partitions; the rest
(hosts, error, next rebalance) is not read. From version 10 on a task may have a named topology.
"""

from kafkascope_parsers.assignments.cursor import Cursor
from kafkascope_parsers.errors import DecodeError

LATEST_VERSION = 11
COMMON_VERSION, NAMED_VERSION = 3, 10
"""First versions with the version that all members know, and with named topologies."""


def standby_tasks(raw: bytes) -> tuple[str, ...]:
    """Standby tasks as `0_1` (subtopology, partition). Raises DecodeError."""
    cursor = Cursor(raw)
    version = cursor.signed(4)
    if not 1 <= version <= LATEST_VERSION:
        raise DecodeError(f"version {version} of Streams' assignment")
    if version >= COMMON_VERSION:
        cursor.signed(4)
    for _ in range(cursor.count(8)):
        _task(cursor, version)
    return tuple(_standby(cursor, version) for _ in range(cursor.count(12)))


def _standby(cursor: Cursor, version: int) -> str:
    task = _task(cursor, version)
    for _ in range(cursor.count(6)):
        cursor.skip_string()
        cursor.signed(4)
    return task


def _task(cursor: Cursor, version: int) -> str:
    task = f"{cursor.signed(4)}_{cursor.signed(4)}"
    if version >= NAMED_VERSION:
        cursor.skip_chars()
    return task
