"""Groups files into series: the order of a rotated series, and capture points that recorded at the same time.

Names are not reliable (tcpdump -C counts up, -G writes dates, a ring starts over), so the first packet's time decides.
A file continues the series whose last file ended before it begins; one that overlaps every series comes from another
capture point and begins a series of its own. This is determined while reading: before a file is read, all files that
began earlier were read to their ends.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkascope_analyzer.read.place import CapturePlace, place_of
from kafkascope_analyzer.read.source import CaptureFile, CaptureInfo
from kafkascope_parsers.errors import UsageError

_PEEK_BYTES = 1 << 16

SLACK_NS = 1_000_000_000
"""Files of one series may overlap by this: packets of several interfaces or processors are written slightly out of
order. Never by more than half of the shorter one."""


def in_time_order(inputs: Sequence[CapturePlace | Path | str]) -> tuple[CapturePlace, ...]:
    """Sorts files by their first packet's time, then by name; those without packets come first. Raises CaptureError
    when one cannot be read, UsageError where two begin with the same packet.

    A pipe can be read only once, so where there is one the given order is kept.
    """
    places = tuple(map(place_of, inputs))
    if len(places) < 2 or any(place.is_stream for place in places):
        return places
    first = {place: first_packet(place) for place in places}
    seen: dict[tuple[int, bytes], CapturePlace] = {}
    for place, packet in first.items():
        if packet[0] and seen.setdefault(packet, place) != place:
            raise UsageError(f"{seen[packet]} and {place} begin with the same packet: give only one of them")
    return tuple(sorted(first, key=lambda place: (first[place][0], _natural(str(place)))))


def first_packet(place: CapturePlace) -> tuple[int, bytes]:
    """Returns the time of a file's first packet and the packet; zero where there is none."""
    for block in CaptureFile(place, _PEEK_BYTES, may_be_empty=True).blocks():
        at, n = int(block.packets.offset[0]), int(block.packets.caplen[0])
        return int(block.packets.ts_ns[0]), block.buf[at : at + n].tobytes()
    return 0, b""


def _natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key that puts cap2 before cap10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


@dataclass(slots=True)
class _Last:
    """A series' last file: its path, and the times of its first and its last packet."""

    path: str
    first_ns: int
    end_ns: int


class SeriesFinder:
    """Finds the series of one file after the other, in time order: 0, 1, ..."""

    def __init__(self) -> None:
        self._series: list[_Last] = []

    def series_of(self, place: CapturePlace | Path | str, first_ns: int) -> int:
        """Returns the series of a file, when its first packet (its time) was read. A number greater than all before is
        a new series."""
        open_to = [i for i, last in enumerate(self._series) if _continues(last, first_ns)]
        if not open_to:
            self._series.append(_Last(str(place), first_ns, first_ns))
            return len(self._series) - 1
        chosen = max(open_to, key=lambda i: _likeness(self._series[i], str(place)))
        self._series[chosen] = _Last(str(place), first_ns, first_ns)
        return chosen

    @property
    def last_paths(self) -> list[str]:
        """The path of the last file of each series."""
        return [last.path for last in self._series]

    def ended(self, series: int, info: CaptureInfo) -> None:
        """Notes the end of the series' last file."""
        self.ended_at(series, info.end_ts_ns or self._series[series].first_ns)

    def ended_at(self, series: int, end_ns: int) -> None:
        """Notes the time of the last packet of the series' last file."""
        self._series[series].end_ns = end_ns


def _continues(last: _Last, first_ns: int) -> bool:
    return first_ns >= last.end_ns - min(SLACK_NS, (last.end_ns - last.first_ns) // 2)


def _likeness(last: _Last, path: str) -> tuple[bool, int, int]:
    """Returns how much a file looks like the next of a series: the same name except for its numbers; a longer common
    prefix; less time between them."""
    same = looks_alike(last.path, path)
    differs = (i for i, (one, other) in enumerate(zip(last.path, path, strict=False)) if one != other)
    return same, next(differs, min(len(last.path), len(path))), last.end_ns


def looks_alike(one: str, other: str) -> bool:
    """Whether two paths are equal except for the numbers in them."""
    return re.sub(r"\d+", "0", one) == re.sub(r"\d+", "0", other)
