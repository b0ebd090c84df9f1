"""Which topic-partitions of a request the page names, against the same in plain Python."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.report.page_model.named_partitions import MOST_OF_ONE, _columns, _first_few

ROW = st.tuples(
    st.integers(0, 3), st.integers(2, 5), st.integers(-1, 6), st.integers(-1, 3), st.sampled_from([0, 7, 9])
)
NAMES = ("row", "topic", "partition", "offset", "error")


def expected(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Of each request one row a topic-partition (with an error and the highest offset before others), those with errors
    first, then one of each topic, then the others; MOST_OF_ONE of them.
    """
    best: dict[tuple[int, ...], tuple[int, ...]] = {}
    for row in sorted(rows, key=lambda r: (-r[4], -r[3])):
        best.setdefault(row[:3], row)
    found = sorted(best.values())
    first = {min((r for r in found if r[:2] == key), key=lambda r: r[2])[:3] for key in {r[:2] for r in found}}
    ordered = sorted(found, key=lambda r: (r[0], r[4] == 0, r[:3] not in first, r[1], r[2]))
    return [row for _, mine in itertools.groupby(ordered, lambda r: r[0]) for row in list(mine)[:MOST_OF_ONE]]


@settings(max_examples=50)
@given(st.lists(ROW, max_size=60), st.integers(1, 3))
def test_the_first_few_are_those_that_matter(rows: list[tuple[int, ...]], n_parts: int) -> None:
    parts = [
        {name: np.array([row[n] for row in rows[part::n_parts]], np.int64) for n, name in enumerate(NAMES)}
        for part in range(n_parts)
    ]
    found = _first_few(parts)
    assert list(zip(*(found[name].tolist() for name in NAMES), strict=True)) == expected(rows)


def test_columns_count_the_partitions_of_each_request() -> None:
    rows = dict(
        zip(NAMES, np.array([[0, 2, 2], [2, 2, 3], [-1, 0, 4], [-1, 2**40, 5], [0, 7, 0]], np.int64), strict=True)
    )
    columns = _columns(rows, 4)
    assert columns["n_named"].tolist() == [1, 0, 2, 0]
    assert columns["partition"].tolist() == [-1, 0, 4]
    assert columns["offset"].tolist() == [-1.0, 2.0**40, 5.0]
    assert _columns(_first_few([]), 2)["n_named"].tolist() == [0, 0]
