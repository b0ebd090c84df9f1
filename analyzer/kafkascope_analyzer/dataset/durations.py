"""Parses durations and times in options: one syntax for all commands.

A duration is a number and a unit: `500ms`, `2s`, `1.5min`. A number alone is seconds. A time is ISO 8601
(`2026-11-21T14:22:07.123456789Z`; a space for the T; UTC where it names no zone) or a duration from the capture's first
packet on (`+12.5s`, `+12.5`). Nanoseconds are kept.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from kafkascope_parsers.errors import UsageError

NS_PER_S = 1_000_000_000
_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "": NS_PER_S,
    "m": 60 * NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}
MOST_NS = 1 << 61
"""Longest duration, some 73 years: added to the time of a capture it still fits into 64 bits."""
_DURATION = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,18}))?\s*(ns|us|µs|ms|s|min|m|h|)")
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
"""Years whose nanoseconds since the epoch fit into 64 bits, with room for a duration."""
_ABSOLUTE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,]([0-9]{1,9})[0-9]*)?"
    r"\s*(Z|UTC|[+-][0-9]{2}:?[0-9]{2})?"
)


def duration_ns(text: str) -> int | None:
    """Returns the nanoseconds of a duration; None where the text is not one."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        return None
    unit, part = _UNITS_NS[found[3]], found[2] or ""
    total = int(found[1]) * unit + int(part or 0) * unit // 10 ** len(part)
    return total if total <= MOST_NS else None


def parse_duration(text: str, option: str) -> int:
    """Returns the nanoseconds of the duration in an option. Raises UsageError."""
    found = duration_ns(text)
    if found is None:
        raise UsageError(
            f"{option} {text}: not a duration; write it as 500ms, 2s, 1.5min or 1h (a number alone: seconds)"
        )
    return found


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in nanoseconds, since the epoch or (relative) since the first packet, and the text of the option."""

    text: str
    ns: int
    relative: bool = False

    def since_epoch(self, first_ns: int) -> int:
        """Returns nanoseconds since the epoch, in a capture whose first packet is at first_ns."""
        return self.ns + first_ns if self.relative else self.ns


def parse_moment(text: str, option: str) -> Moment:
    """Returns the time in an option. Raises UsageError."""
    trimmed = text.strip()
    offset = duration_ns(trimmed[1:]) if trimmed.startswith("+") else None
    if offset is not None:
        return Moment(text, offset, relative=True)
    absolute = _ABSOLUTE.fullmatch(trimmed)
    if absolute:
        zone = "+00:00" if absolute[3] in (None, "Z", "UTC") else absolute[3]
        try:
            whole = datetime.fromisoformat(absolute[1] + zone)
        except ValueError:
            whole = None
        if whole is not None and _FIRST_YEAR <= whole.year <= _LAST_YEAR:
            seconds = round((whole - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
            return Moment(text, seconds * NS_PER_S + int((absolute[2] or "0").ljust(9, "0")))
    raise UsageError(
        f"{option} {text}: not a time; write it as 2026-11-21T14:22:07.5Z (UTC without a zone), or as +12.5s from the "
        "first packet on"
    )


def moment_text(ns: int) -> str:
    """Returns nanoseconds since the epoch in the syntax of `parse_moment`, with all digits:
    2026-11-21T14:22:07.123456789Z."""
    whole, part = divmod(ns, NS_PER_S)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{part:09}Z"
