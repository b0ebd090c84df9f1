"""Joins the results of reading the ranges of a plan, and checks whether the plan was right.

The first range of a file begins with the file's header. If each further one begins at the byte after the last record of
the previous range, then by induction the ranges together equal one reading of the whole file.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from kafkascope_analyzer.read.range_reading import RangeSummary
from kafkascope_analyzer.read.reading import EarlierSeries
from kafkascope_analyzer.read.series import SeriesFinder
from kafkascope_analyzer.read.source import CaptureInfo


@dataclass(frozen=True, slots=True)
class Joined:
    """The joined results of the ranges. captures: in order; series: by capture, -1 where it has no packets; finder: the
    SeriesFinder of the series; packets_before: by capture and range, the packets of the capture before the range.

    wrong_ends: times of the last packets of the captures, where the plan assumed that a file continues the wrong one;
    wrong_joints: (capture, `first`) of the ranges that do not begin where the previous one ends. Where there are any of
    these, the other results are invalid.
    """

    captures: list[CaptureInfo] = field(default_factory=list)
    series: dict[int, int] = field(default_factory=dict)
    finder: SeriesFinder = field(default_factory=SeriesFinder)
    packets_before: dict[tuple[int, int], int] = field(default_factory=dict)
    wrong_joints: frozenset[tuple[int, int]] = frozenset()
    wrong_ends: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Whether the plan was right."""
        return not self.wrong_joints and not self.wrong_ends


_NOTHING_EARLIER = EarlierSeries()


def join(summaries: Sequence[RangeSummary], earlier: EarlierSeries = _NOTHING_EARLIER) -> Joined:
    """Joins the results of all ranges of a plan, and finds where the plan was wrong. earlier: the series that the
    captures of the plan may continue."""
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
    finder, last_of = deepcopy(earlier.finder), dict(enumerate(earlier.last_captures))
    is_wrong, numbered = False, dict(enumerate(joined.captures, earlier.n_captures))
    for (number, info), begin_ns in zip(numbered.items(), begins, strict=True):
        if begin_ns is None:
            joined.series[number] = -1
            continue
        series = finder.series_of(info.path, begin_ns)
        is_wrong |= last_of.get(series, -1) != before[number]
        last_of[series] = number
        joined.series[number] = series
        finder.ended(series, info)
    ends_ns = {number: info.end_ts_ns or 0 for number, info in numbered.items()} if is_wrong else {}
    return replace(joined, finder=finder, wrong_joints=frozenset(wrong), wrong_ends=ends_ns)
