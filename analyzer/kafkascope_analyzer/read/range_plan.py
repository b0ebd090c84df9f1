"""Divides captures into ranges that can be read independently.

Only pcap files without compression are divided; any other file is one range. A plan is right if each range begins at
the byte after the last record of the previous range, and if each file continues the file whose end was read before it.
Both are known when everything was read (range_join); a wrong plan is made again with the facts known by then.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_analyzer.read.range_lead import lead_in, pcap_reader
from kafkascope_analyzer.read.reading import ToRead
from kafkascope_analyzer.read.series import first_packet, looks_alike
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.link import LinkReader

LEAST_RANGE_BYTES, MOST_RANGE_BYTES = 128 << 20, 512 << 20
"""Limits of the bytes of a range: many times the bytes that have to be read before it, and a second of work, which is
lost with a task."""
RANGES_A_TASK = 4
"""Fewest ranges for each of the parallel tasks, so that they end at about the same time."""
_PEEK_BYTES = 1 << 16
_MOST_OPENED = 16
"""Most files that are opened at the same time to plan: a store takes tens of milliseconds for each."""
_UNKNOWN_NS = 1 << 62


@dataclass(frozen=True, slots=True)
class CaptureRange:
    """Bytes [first, last) of the capture `capture_id` at `place`, measured at the beginnings of records; last: None is
    the end of the file. number: number of the range in its file. previous: the number of the capture that it continues,
    with its place or, for a capture that an earlier run has read, the state of the link layer at its end; None where it
    begins a series, and for all but the first range of a file.
    """

    capture_id: int
    number: int
    place: CapturePlace
    first: int = 0
    last: int | None = None
    previous: tuple[int, CapturePlace | LinkReader] | None = None
    may_be_empty: bool = False


def range_bytes_for(n_bytes: int, n_tasks: int) -> int:
    """Returns the bytes of a range for n_bytes of captures, of which n_tasks ranges are read in parallel."""
    return min(max(n_bytes // (n_tasks * RANGES_A_TASK), LEAST_RANGE_BYTES), MOST_RANGE_BYTES)


def plan_ranges(
    to_read: ToRead,
    range_bytes: int,
    *,
    ends_ns: Mapping[int, int] | None = None,
    joints: frozenset[tuple[int, int]] = frozenset(),
) -> tuple[CaptureRange, ...]:
    """Divides captures, which are in time order, into ranges of about range_bytes. ends_ns: the known times of last
    packets, by capture; joints: (capture, `first`) of ranges that have to be joined with the previous range.

    Raises CaptureError where a capture cannot be read.
    """
    inputs, first_id = to_read.places, len(to_read.before.captures)
    if len(inputs) == 1:  # several inputs were opened already when they were put in order
        next(CaptureFile(inputs[0], _PEEK_BYTES).blocks(), None)
    previous = _previous_captures(to_read, ends_ns or {})
    ranges: list[CaptureRange] = []
    for capture_id, place in enumerate(inputs, first_id):
        starts = _starts(place, range_bytes)
        pairs = list(zip(starts, [*starts[1:], None], strict=True))
        for number, (first, last) in enumerate(_merged(pairs, capture_id, joints)):
            before = previous.get(capture_id) if number == 0 else None
            ranges.append(CaptureRange(capture_id, number, place, first, last, before, first_id + len(inputs) > 1))
    return tuple(ranges)


def _merged(
    pairs: list[tuple[int, int | None]], capture_id: int, joints: frozenset[tuple[int, int]]
) -> list[tuple[int, int | None]]:
    """Returns the ranges of a capture, with those at joints joined with the previous one."""
    merged: list[tuple[int, int | None]] = []
    for first, last in pairs:
        if merged and (capture_id, first) in joints:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def _starts(place: CapturePlace, range_bytes: int) -> list[int]:
    """Returns the bytes at which the ranges of a capture begin."""
    return [0] if pcap_reader(place) is None else list(range(0, max(place.size_bytes(), 1), range_bytes))


def _previous_captures(to_read: ToRead, ends_ns: Mapping[int, int]) -> dict[int, tuple[int, CapturePlace | LinkReader]]:
    """Returns the capture that each one continues, if any. Where the end of a file is not known without reading it, it
    is assumed to be where the next file of a similar name begins."""
    inputs, before = to_read.places, to_read.before.series()
    if before.n_captures + len(inputs) == 1:
        return {}
    with ThreadPoolExecutor(_MOST_OPENED) as pool:
        begins = [first_ns for first_ns, _ in pool.map(first_packet, inputs)]
        ends = list(pool.map(lambda i: ends_ns.get(before.n_captures + i) or _end_ns(inputs[i]), range(len(inputs))))
    last_of: dict[int, tuple[int, CapturePlace | LinkReader]] = {
        series: (number, to_read.before.links[series]) for series, number in enumerate(before.last_captures)
    }
    previous = {}
    for i, place in enumerate(inputs):
        if begins[i]:
            series = before.finder.series_of(place, begins[i])
            if series in last_of:
                previous[before.n_captures + i] = last_of[series]
            last_of[series] = (before.n_captures + i, place)
            before.finder.ended_at(series, ends[i] or _next_alike(inputs, begins, i))
    return previous


def _next_alike(inputs: Sequence[CapturePlace], begins: Sequence[int], i: int) -> int:
    """Returns the time at which the next file of a similar name begins."""
    alike = (j for j in range(i + 1, len(inputs)) if looks_alike(str(inputs[i]), str(inputs[j])))
    return next((begins[j] for j in alike), _UNKNOWN_NS)


def _end_ns(place: CapturePlace) -> int | None:
    """Returns the time of the last packet of a file, where it can be known without reading all of it."""
    lead = lead_in(place, None)
    return int(lead.packets.ts_ns[-1]) if lead is not None and len(lead.packets) else None
