"""Columns of few distinct values against dictionaries and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.connections import dictionary
from kafkascope_analyzer.connections.dictionary import DistinctCodes, firsts

SEEN = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**31 - 1), st.integers(0, 9)), max_size=40)
"""(row, code, time)."""


def arrays(seen):
    return tuple(np.array(column, np.int64) for column in (zip(*seen, strict=True) if seen else ([], [], [])))


@given(st.lists(SEEN, max_size=5), st.integers(0, 6), st.integers(0, 7), st.integers(1, 8))
def test_each_row_has_its_codes_once_in_the_order_it_first_had_them(batches, start, stop, settled):
    stop = max(start, stop)
    several, first = DistinctCodes(), {}
    dictionary._SETTLED_PAIRS, usual = settled, dictionary._SETTLED_PAIRS
    try:
        for seen in batches:
            several.add(*arrays(seen))
            for row, code, ts in seen:
                first[row, code] = min(ts, first.get((row, code), ts))
        ends, codes = several.part(slice(start, stop))
    finally:
        dictionary._SETTLED_PAIRS = usual
    result = [codes[ends[i] : ends[i + 1]].tolist() for i in range(stop - start)]
    assert result == [
        [code for _, code in sorted((ts, code) for (row, code), ts in first.items() if row == n)]
        for n in range(start, stop)
    ]


@given(SEEN)
def test_the_first_of_each_row(seen):
    rows, _, ts = arrays(seen)
    in_order = {row: at for at, row in reversed(list(enumerate(rows.tolist())))}
    by_time = {row: min((t, at) for at, (r, t) in enumerate(zip(rows, ts, strict=True)) if r == row)[1] for row in rows}
    assert {int(rows[at]): int(at) for at in firsts(rows)} == in_order
    assert {int(rows[at]): int(at) for at in firsts(rows, ts)} == by_time
