"""Numbers for combinations of values, against those of a dict."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.resolve import distinct_rows
from kafkascope_analyzer.resolve.distinct_rows import group_codes

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.sampled_from([None, 7, -7])))


def by_dict(rows: list[tuple[object, ...]]) -> list[int]:
    numbers: dict[tuple[object, ...], int] = {}
    return [numbers.setdefault(row, len(numbers)) for row in rows]


@given(ROWS, st.sampled_from([1 << 62, 2]))
def test_equal_rows_have_one_number_in_order_of_appearance(rows: list[tuple[object, ...]], most: int) -> None:
    """Null is a value of its own. most: of 2, the combinations are numbered anew at each column."""
    numbers, texts, others = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [np.array(numbers, np.int64), pa.array(texts, pa.string()), pa.chunked_array([others], pa.int64())]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distinct_rows, "_MOST", most)
        codes, n = group_codes(columns)
    assert (codes.tolist(), n) == (by_dict(rows), len(set(rows)))
