"""The results of a block's encrypted runs: decrypted stretches, with the places of the records that carried them, and
the bytes that were not decrypted."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Stretch(NamedTuple):
    """Decrypted bytes of a direction without a hole: their offset in the decrypted stream, why bytes are missing before
    them (GAP_*), and the number of their records."""

    direction: int
    offset: int
    gap_kind: int
    n_records: int


class Undecrypted(NamedTuple):
    """Bytes that were not decrypted: the first one's place in the block's data, their offset in TCP's stream."""

    direction: int
    at: int
    stream_offset: int
    n_bytes: int
    reason: str
    detail: str | None


class Alert(NamedTuple):
    """An alert: the direction that it was sent in, and its description (RFC 8446, section 6)."""

    direction: int
    description: int


class Certificates(NamedTuple):
    """The certificates (DER) that a side of a connection sent encrypted, its own first; empty if it has none."""

    connection: int
    is_client: bool
    chain: tuple[bytes, ...]


@dataclass(slots=True)
class PlainText:
    """The decrypted content of a block. room: where content is written, one record after the other, `filled` bytes so
    far; sizes: of each record's content; begins, ends: places of the first encrypted byte and after the last byte of
    each record in the block's data; overhead: bytes of decrypted records that are not content, by direction."""

    room: memoryview
    filled: int = 0
    sizes: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    undecrypted: list[Undecrypted] = field(default_factory=list)
    overhead: dict[int, int] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    certificates: list[Certificates] = field(default_factory=list)

    def add_overhead(self, direction: int, n_bytes: int) -> None:
        """Counts bytes of a direction that are not content."""
        self.overhead[direction] = self.overhead.get(direction, 0) + n_bytes

    def add_undecrypted(self, row: Undecrypted) -> None:
        """Takes bytes that were not decrypted; adjoining bytes with the same reason become one row."""
        last = self.undecrypted[-1] if self.undecrypted else None
        if row.n_bytes <= 0:
            return
        if (
            last is not None
            and (last.direction, last.reason, last.detail) == (row.direction, row.reason, row.detail)
            and (last.at + last.n_bytes, last.stream_offset + last.n_bytes) == (row.at, row.stream_offset)
        ):
            self.undecrypted[-1] = last._replace(n_bytes=last.n_bytes + row.n_bytes)
            return
        self.undecrypted.append(row)
