"""Leaps in the times of a file's packets, compared with a plain count."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.read.source import CaptureInfo
from kafkascope_analyzer.read.time_leaps import LEAP_NS, count_leaps, joined_spans, spans_of

DAY = 86_400 * 10**9
TIMES = st.lists(st.integers(0, 200).map(lambda day: day * DAY), min_size=1, max_size=30)


def plain_spans(times):
    ordered = sorted(times)
    cuts = [0, *(at for at in range(1, len(ordered)) if ordered[at] - ordered[at - 1] >= LEAP_NS), len(ordered)]
    return tuple((ordered[begin], ordered[end - 1]) for begin, end in pairwise(cuts))


def info_of(*blocks):
    """What is known of a file with these times, block by block, as `CaptureInfo.take` adds it up."""
    info = CaptureInfo("a.pcap")
    for times in blocks:
        info.add_times(np.array(times, np.int64))
    return info


@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(0, 3))
def test_blocks_and_parts_of_a_file_are_as_the_whole(blocks, at):
    times = [ns for block in blocks for ns in block]
    expected = plain_spans(times), sum(abs(b - a) >= LEAP_NS for a, b in pairwise(times)), min(times), max(times)
    joined = info_of(*blocks[:at])
    joined.add(info_of(*blocks[at:]))
    for info in (info_of(times), info_of(*blocks), joined):
        assert (info.spans, info.n_leaps, info.first_ts_ns, info.last_ts_ns) == expected
        assert (info.begin_ts_ns, info.end_ts_ns) == (times[0], times[-1])


def test_spans_are_a_month_apart():
    times = np.array([0, LEAP_NS - 1, 2 * LEAP_NS - 1, 5], np.int64)
    assert spans_of(times, 0, 2 * LEAP_NS - 1) == ((0, LEAP_NS - 1), (2 * LEAP_NS - 1, 2 * LEAP_NS - 1))
    assert joined_spans([(9, 10), (0, 5), (LEAP_NS + 10, LEAP_NS + 11)]) == ((0, 10), (LEAP_NS + 10, LEAP_NS + 11))
    assert count_leaps(times, 0, 2 * LEAP_NS - 1, None) == 2
    assert count_leaps(times, 0, 2 * LEAP_NS - 1, 3 * LEAP_NS) == 3
