"""Joins what was read of the ranges of a plan, and says whether the plan was right.

The first range of a file begins with the file's header. Where each further one begins at the byte behind the last
record of the range before it, the ranges are, by induction, what one reading of the whole file gives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafkascope_analyzer.read.range_reading import RangeSummary
from kafkascope_analyzer.read.series import SeriesFinder
from kafkascope_analyzer.read.source import CaptureInfo


@dataclass(frozen=True, slots=True)
class Joined:
    """What the ranges give together. captures: in order; series: of each capture, -1 where it has no packets;
    packets_before: by capture and range, the packets of the capture before the range.

    wrong_ends: times of the last packets of the captures, where the plan took a file for the wrong one's continuation;
    wrong_joints: (capture, `first`) of the ranges that do not begin where the one before them ends. Where there is
    either, nothing else is of use.
    """

    captures: list[CaptureInfo] = field(default_factory=list)
    series: list[int] = field(default_factory=list)
    packets_before: dict[tuple[int, int], int] = field(default_factory=dict)
    wrong_joints: frozenset[tuple[int, int]] = frozenset()
    wrong_ends: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Whether the plan was right."""
        return not self.wrong_joints and not self.wrong_ends


def join(summaries: Sequence[RangeSummary]) -> Joined:
    """Joins what was read of all ranges of a plan, and says where the plan was wrong."""
    ordered = sorted(summaries, key=lambda each: (each.capture_id, each.number))
    joined, wrong, before = Joined(), set(), dict[int, int]()
    begins: list[int | None] = []
    ends: list[RangeSummary] = []
    for each in ordered:
        key = (each.capture_id, each.number)
        if each.number == 0:
            joined.captures.append(replace(each.info))
            joined.packets_before[key] = 0
            begins.append(each.begin_ns)
            ends.append(each)
            before[each.capture_id] = each.previous
            continue
        if each.first_byte != ends[-1].end_byte:
            wrong.add((each.capture_id, each.first))
        capture = joined.captures[-1]
        joined.packets_before[key] = capture.n_packets
        capture.add(each.info)
        begins[-1] = each.begin_ns if begins[-1] is None else begins[-1]
        ends[-1] = each
    is_wrong, series = _series_of(joined.captures, begins, before)
    ends_ns = {i: info.end_ts_ns or 0 for i, info in enumerate(joined.captures)} if is_wrong else {}
    return Joined(joined.captures, series, joined.packets_before, frozenset(wrong), ends_ns)


def _series_of(
    captures: Sequence[CaptureInfo], begins: Sequence[int | None], previous: Mapping[int, int]
) -> tuple[bool, list[int]]:
    """Whether the plan took a file for the continuation of the wrong one, and the series of each."""
    finder, series, last_of, is_wrong = SeriesFinder(), list[int](), dict[int, int](), False
    for i, (info, begin_ns) in enumerate(zip(captures, begins, strict=True)):
        if begin_ns is None:
            series.append(-1)
            continue
        number = finder.series_of(info.path, begin_ns)
        is_wrong |= last_of.get(number, -1) != previous[i]
        last_of[number] = i
        series.append(number)
        finder.ended(number, info)
    return is_wrong, series
