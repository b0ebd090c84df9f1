"""Replaces the topics in the messages between members of a classic consumer group by pseudonyms.

Messages of other groups, messages that do not decode, and user data of assignors are dropped. Source:
ConsumerProtocolSubscription.json and ConsumerProtocolAssignment.json of Kafka's clients (versions 0 to 3).
"""

import struct
from collections.abc import Callable

from kafkascope_parsers.errors import DecodeError

_NO_USER_DATA = struct.pack(">i", -1)


class _Cursor:
    """Reads one message, and writes it with other topics."""

    def __init__(self, raw: bytes, renamed: Callable[[str], str]) -> None:
        self._raw, self._at, self._renamed = raw, 0, renamed
        self.out = bytearray()

    @property
    def is_over(self) -> bool:
        return self._at == len(self._raw)

    def take(self, n: int) -> bytes:
        """Reads n bytes."""
        if not 0 <= n <= len(self._raw) - self._at:
            raise DecodeError("the bytes of a group's member do not decode")
        self._at += n
        return self._raw[self._at - n : self._at]

    def number(self, n: int) -> int:
        """Copies a number of n bytes."""
        raw = self.take(n)
        self.out += raw
        return int.from_bytes(raw, "big", signed=True)

    def name(self) -> None:
        """Copies a text, renamed."""
        text = self.take(int.from_bytes(self.take(2), "big", signed=True)).decode("utf-8", "replace")
        raw = self._renamed(text).encode()
        self.out += struct.pack(">h", len(raw)) + raw

    def partitions(self) -> None:
        """Copies a list of topics with their partitions."""
        for _ in range(self.number(4)):
            self.name()
            self.out += self.take(4 * self.number(4))

    def user_data(self) -> None:
        """Drops user data."""
        self.take(max(int.from_bytes(self.take(4), "big", signed=True), 0))
        self.out += _NO_USER_DATA


def renamed_subscription(raw: bytes, renamed: Callable[[str], str]) -> bytes:
    """Returns a member's subscription with other names of topics and racks; empty where it does not decode."""
    cursor = _Cursor(raw, renamed)
    try:
        version = cursor.number(2)
        for _ in range(cursor.number(4)):
            cursor.name()
        cursor.user_data()
        if version >= 1:
            cursor.partitions()
        if version >= 2:
            cursor.number(4)
        if version >= 3 and not cursor.is_over:
            _rack(cursor)
    except DecodeError:
        return b""
    return bytes(cursor.out)


def renamed_assignment(raw: bytes, renamed: Callable[[str], str]) -> bytes:
    """Returns a member's assignment with other names of topics; empty where it does not decode."""
    cursor = _Cursor(raw, renamed)
    try:
        cursor.number(2)
        cursor.partitions()
        cursor.user_data()
    except DecodeError:
        return b""
    return bytes(cursor.out)


def _rack(cursor: _Cursor) -> None:
    """Drops the rack."""
    cursor.take(max(int.from_bytes(cursor.take(2), "big", signed=True), 0))
    cursor.out += struct.pack(">h", -1)
