"""A cursor over the bytes of one member's metadata or assignment, in Kafka's old (inflexible) types.

The bytes come from clients and no broker has checked them. So every length is compared with the remaining bytes before
it is used, and the size of the results is limited.
"""

from kafkascope_parsers.errors import DecodeError

MAX_NAME_BYTES = 249
"""The longest topic name (org.apache.kafka.common.internals.Topic). Each partition repeats the name, so this limits the
size of the results."""
MAX_ITEMS = 200_000
"""Partitions or tasks of one member: about the largest number in a cluster (KRaft: millions in all, 200,000 a
broker)."""


class Cursor:
    """Reads values one after the other. Every method raises DecodeError if the bytes end too soon."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        self._items = 0

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self._raw) - self._at

    def _take(self, n: int) -> bytes:
        if n > self.left:
            raise DecodeError(f"{n} bytes wanted at byte {self._at}, {self.left} are there")
        self._at += n
        return self._raw[self._at - n : self._at]

    def signed(self, width: int) -> int:
        """A signed integer of width bytes."""
        return int.from_bytes(self._take(width), "big", signed=True)

    def name(self) -> str:
        """A string that names a topic or a connector."""
        n = self.signed(2)
        if not 0 <= n <= MAX_NAME_BYTES:
            raise DecodeError(f"a name of {n} bytes at byte {self._at}")
        return self._take(n).decode("utf-8", "replace")

    def skip_string(self) -> None:
        """Skips a string, which may be null."""
        self._skip(self.signed(2))

    def skip_chars(self) -> None:
        """Skips a string of Java chars (DataOutput.writeChars) with their number before it."""
        n = self.signed(4)
        if n < 0:
            raise DecodeError(f"a string of {n} chars at byte {self._at}")
        self._take(2 * n)

    def blob(self) -> bytes | None:
        """Bytes; None for null."""
        n = self.signed(4)
        if n < -1:
            raise DecodeError(f"{n} bytes at byte {self._at}")
        return None if n < 0 else self._take(n)

    def count(self, least: int, *, nullable: bool = False) -> int:
        """The number of elements of an array; 0 for null if that is allowed. least: bytes that each of them takes at
        least."""
        n = self.signed(4)
        if n == -1 and nullable:
            return 0
        self._items += max(n, 0)
        if not 0 <= n <= self.left // least or self._items > MAX_ITEMS:
            raise DecodeError(f"{n} elements at byte {self._at}, {self.left} bytes are left")
        return n

    def _skip(self, n: int) -> None:
        if n < -1:
            raise DecodeError(f"a string of {n} bytes at byte {self._at}")
        self._take(max(n, 0))
