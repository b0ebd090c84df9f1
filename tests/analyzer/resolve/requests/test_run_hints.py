"""The leader that all responses of a run name: by hand."""

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, partitions

from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.requests.run_hints import RunHints
from kafkascope_analyzer.scan.unanswered import request_numbers

NOT_LEADER = 6


def numbers(*places: tuple[int, int]) -> np.ndarray:
    """request_numbers of connections and requests."""
    conn, number = zip(*places, strict=True)
    return request_numbers(pa.table({"conn": conn, "number": number}))


ZEROS = np.zeros(2, np.int64)
RUNS = ErrorRuns(numbers((0, 10), (1, 3)), numbers((0, 12), (1, 3)), ZEROS, ZEROS, ZEROS)
"""Requests 10 to 12 of connection 0, and request 3 of connection 1."""


def answer(number: int, leader: int | None = 5, **more: object) -> Row:
    row: Row = {"conn": 0, "number": number, "topic": "t", "partition": 0, "error_code": NOT_LEADER}
    return row | {"leader_id": leader} | more


def leader(*batches: list[Row], run: int = 0) -> int | None:
    hints = RunHints(RUNS)
    for rows in batches:
        hints.add(partitions(*rows))
    (found,) = hints.leaders(np.array([run]), pa.array(["t"]), pa.array([0], pa.int32())).to_pylist()
    assert found is None or isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([answer(10), answer(11), answer(12)], 5),
        ([answer(10), answer(11), answer(12, 6)], None),
        ([answer(10), answer(12)], None),
        ([answer(10), answer(11, None), answer(12)], None),
        ([answer(10), answer(11, -1), answer(12)], None),
        ([answer(10), answer(11, error_code=0), answer(12)], None),
        ([answer(10), answer(11, topic="u"), answer(12)], None),
        ([answer(10), answer(11, partition=1), answer(12)], None),
        ([answer(9, 6), answer(10), answer(11), answer(12), answer(13, 6)], 5),
        ([answer(10), answer(11, None, current_leader_id=5), answer(12)], 5),
        ([answer(n, 0) for n in (10, 11, 12)], 0),
        ([answer(n, 2**31 - 1) for n in (10, 11, 12)], 2**31 - 1),
        ([answer(n, -(2**31)) for n in (10, 11, 12)], None),
        ([answer(9), answer(13)], None),
        ([], None),
    ],
    ids=[
        "all name it",
        "one names another",
        "one is missing",
        "one names none",
        "one says that there is none",
        "one has no error",
        "one is of another topic",
        "one is of another partition",
        "before and after the run",
        "in the newer field",
        "the least node",
        "the largest node",
        "no node",
        "outside the run",
        "no rows",
    ],
)
def test_a_run_has_the_leader_that_each_of_its_responses_names(rows: list[Row], expected: int | None) -> None:
    assert leader(rows) == expected
    assert leader(*([row] for row in rows)) == expected, "whatever the batches"


def test_runs_do_not_mix() -> None:
    rows = [answer(10), answer(11), answer(12), answer(3, 8, conn=1)]
    assert [leader(rows, run=run) for run in (0, 1)] == [5, 8]


def test_leaders_come_in_the_order_of_the_question() -> None:
    hints = RunHints(RUNS)
    hints.add(partitions(*(answer(3, node, conn=1, partition=node) for node in (1, 2, 3))))
    wanted = pa.array([3, 9, 1, 2], pa.int32())
    assert hints.leaders(np.array([1, 1, 1, 1]), pa.array(["t"] * 4), wanted).to_pylist() == [3, None, 1, 2]
