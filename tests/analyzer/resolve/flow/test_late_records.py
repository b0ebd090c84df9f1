"""How many records of a batch waited for half a second or more. Times are milliseconds."""

import numpy as np
import pytest

from kafkascope_analyzer.resolve.flow.produce_facts import _late_records

MS = 1_000_000


@pytest.mark.parametrize(
    ("n", "waited", "spread", "late"),
    [
        (10, 400, 0, 0),
        (10, 2_000, 0, 10),
        (10, 2_000, 1_000, 10),
        (11, 2_550, 4_000, 5),
        (1, 560, 0, 1),
        (9, 560, 900, 1),
    ],
    ids=["soon", "all at once", "all", "half of them", "one", "only the first is sure"],
)
def test_records_are_late_as_far_as_that_is_sure(n: int, waited: int, spread: int, late: int) -> None:
    columns = (np.array([value], np.int64) for value in (n, waited * MS, spread * MS))
    assert _late_records(*columns).tolist() == [late]
