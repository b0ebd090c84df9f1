"""What opens one record. It loads nothing, so that `ciphers`, which loads the `cryptography` package, is needed only
where there is something to decrypt."""

from typing import Protocol

HEADER_BYTES = 5
"""Bytes of a record's header: type, version and length. What is encrypted follows."""

Opened = tuple[int, int]
"""Content type of a record, and bytes of its content."""
NOT_OPENED: Opened = (-1, 0)
"""The record is not what these keys and this sequence number protect."""


class RecordCipher(Protocol):
    """Opens the records of one direction, of one generation of keys. A record is the whole of it, with its header.

    content_at: bytes of a record before its content; overhead: bytes that a record has beside its content, padding
    apart, or None where they depend on it; least: bytes of the shortest record.
    """

    content_at: int
    overhead: int | None
    least: int

    @property
    def is_direct(self) -> bool:
        """Whether `sequence_of` needs no search."""

    def open(self, sequence: int, record: memoryview, room: memoryview) -> Opened:
        """Writes the content of a record to room, which is as long as the record or longer; what is behind the content
        is undefined. NOT_OPENED where it does not open."""

    def sequence_of(self, record: memoryview, expected: int, window: int) -> int | None:
        """The sequence number that a record was protected with; None where it is not found. Where it has to be
        searched, expected is tried first, and then the window - 1 that follow."""
