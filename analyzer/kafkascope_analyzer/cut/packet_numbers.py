"""Parses packet numbers as people write them."""

import re
from dataclasses import dataclass

from kafkascope_parsers.errors import UsageError

_RANGE = re.compile(r"(?:([0-9]{1,9}):)?([0-9]{1,18})(?:-([0-9]{1,18}))?")


@dataclass(frozen=True, slots=True)
class PacketRange:
    """Packet numbers first..last, both included, of one input file. capture_id is None where there is only one file."""

    capture_id: int | None
    first: int
    last: int

    def __str__(self) -> str:
        head = "" if self.capture_id is None else f"{self.capture_id}:"
        return f"{head}{self.first}" if self.first == self.last else f"{head}{self.first}-{self.last}"


def parse_packets(text: str) -> tuple[PacketRange, ...]:
    """Parses `100-250,300`, or with several captures `0:100-250,1:7` (capture_id before the colon). Raises
    UsageError."""
    found = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match or not 1 <= int(match[2]) <= int(match[3] or match[2]):
            raise UsageError(f"{part.strip() or text}: not packet numbers; write them as 100-250,300, counted from 1")
        found.append(PacketRange(int(match[1]) if match[1] else None, int(match[2]), int(match[3] or match[2])))
    return tuple(found)
