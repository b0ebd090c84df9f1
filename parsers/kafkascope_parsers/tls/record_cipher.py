"""The interface of ciphers that open records. It loads nothing; `ciphers`, which loads the `cryptography` package, is
needed only for decryption."""

from typing import Protocol

HEADER_BYTES = 5
"""Bytes of a record's header: type, version and length. The encrypted bytes follow."""

Opened = tuple[int, int]
"""Content type of a record, and bytes of its content."""
NOT_OPENED: Opened = (-1, 0)
"""The record was not protected with these keys and this sequence number."""


class RecordCipher(Protocol):
    """Opens the records of one direction and one generation of keys. A record is passed whole, with its header.

    content_at: bytes of a record before its content; overhead: bytes of a record besides its content and padding, or
    None if their number depends on it; least: bytes of the shortest record.
    """

    content_at: int
    overhead: int | None
    least: int

    @property
    def is_direct(self) -> bool:
        """Whether `sequence_of` needs no search."""

    def open(self, sequence: int, record: memoryview, room: memoryview) -> Opened:
        """Writes the content of a record to room, which is as long as the record or longer; the bytes after the content
        are undefined. NOT_OPENED if it does not open."""

    def sequence_of(self, record: memoryview, expected: int, window: int) -> int | None:
        """The sequence number that a record was protected with; None if it is not found. If it has to be searched,
        expected is tried first, and then the next window - 1 numbers."""
