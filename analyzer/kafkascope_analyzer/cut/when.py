"""Times and packet numbers as people write them.

A time is ISO 8601 (`2026-11-21T14:22:07.123456789Z`; a space for the T; UTC where it names no zone) or an offset from
the capture's first packet (`+12.5s`, `+850ms`, `+2m`, `+1h`; seconds where it names no unit). Nanoseconds are kept.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from kafkascope_parsers.errors import UsageError

NS_PER_S = 1_000_000_000
_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "": NS_PER_S,
    "m": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}
_OFFSET = re.compile(r"\+(\d{1,12})(?:\.(\d{1,18}))?\s*(ns|us|ms|s|m|h|)")
_ABSOLUTE = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9})\d*)?\s*(Z|UTC|[+-]\d\d:?\d\d)?")
_RANGE = re.compile(r"(?:(\d{1,9}):)?(\d{1,18})(?:-(\d{1,18}))?")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in nanoseconds, since the epoch or (relative) since the first packet; and how it was written."""

    text: str
    ns: int
    relative: bool = False

    def since_epoch(self, first_ns: int) -> int:
        """Nanoseconds since the epoch, in a capture whose first packet is at first_ns."""
        return self.ns + first_ns if self.relative else self.ns


def parse_moment(text: str) -> Moment:
    """A time as above. Raises UsageError."""
    offset = _OFFSET.fullmatch(text.strip())
    if offset:
        unit = _UNITS_NS[offset[3]]
        part = offset[2] or ""
        return Moment(text, int(offset[1]) * unit + int(part or 0) * unit // 10 ** len(part), relative=True)
    absolute = _ABSOLUTE.fullmatch(text.strip())
    if absolute:
        zone = "+00:00" if absolute[3] in (None, "Z", "UTC") else absolute[3]
        try:
            whole = datetime.fromisoformat(absolute[1] + zone)
        except ValueError:
            whole = None
        if whole is not None:
            seconds = round((whole - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
            return Moment(text, seconds * NS_PER_S + int((absolute[2] or "0").ljust(9, "0")))
    raise UsageError(f"{text}: not a time; write it as 2026-11-21T14:22:07.5Z, or as +12.5s from the first packet")


@dataclass(frozen=True, slots=True)
class PacketRange:
    """Packet numbers first..last, both included, of one input file (its capture_id; None is the only one)."""

    capture_id: int | None
    first: int
    last: int

    def __str__(self) -> str:
        head = "" if self.capture_id is None else f"{self.capture_id}:"
        return f"{head}{self.first}" if self.first == self.last else f"{head}{self.first}-{self.last}"


def parse_packets(text: str) -> tuple[PacketRange, ...]:
    """`100-250,300`, or with several captures `0:100-250,1:7` (capture_id before the colon). Raises UsageError."""
    found = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match or not 1 <= int(match[2]) <= int(match[3] or match[2]):
            raise UsageError(f"{part.strip() or text}: not packet numbers; write them as 100-250,300, counted from 1")
        found.append(PacketRange(int(match[1]) if match[1] else None, int(match[2]), int(match[3] or match[2])))
    return tuple(found)
