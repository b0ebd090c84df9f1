"""What was under way when a time began that no file covers: here from 10 to 20 s. What is expected is said by hand."""

from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_analyzer.resolve.cut_at_uncovered import cut_waits, with_unknown_answers, without_unknown_idle
from kafkascope_analyzer.resolve.servers.waits import Waits
from kafkascope_parsers.tcp.spans import BY_HIDDEN

S = 1_000_000_000
HOLE = Uncovered(((10 * S, 20 * S),))


@pytest.mark.parametrize(
    ("closed_s", "idle_s", "kept"),
    [(9, 5, True), (25, 4, True), (25, 16, False), (20, 10, False), (20, 9, True), (15, 2, True), (25, None, True)],
)
def test_idle_time_over_the_hole_is_not_known(closed_s: int, idle_s: int | None, kept: bool) -> None:
    """Of what is idle from 9 to 25 s nobody knows that nothing was sent in between."""
    idle = None if idle_s is None else idle_s * 1_000
    columns = {"close_ns": [closed_s * S], "idle_before_close_ms": pa.array([idle], pa.int64())}
    found = without_unknown_idle(pa.table(columns), HOLE)
    assert found["idle_before_close_ms"].to_pylist() == [idle if kept else None]


@pytest.mark.parametrize(
    ("status", "sent_s", "closed_s", "expected"),
    [
        ("unanswered", 9, None, "not_captured"),  # the answer may be in the hole
        ("unanswered", 9, 25, "not_captured"),
        ("unanswered", 5, 9, "unanswered"),  # the connection was over before
        ("unanswered", 21, None, "unanswered"),  # asked after it
        ("ok", 9, None, "ok"),
    ],
)
def test_an_answer_may_be_in_the_hole(status: str, sent_s: int, closed_s: int | None, expected: str) -> None:
    requests = pa.table(
        {
            "conn": [0],
            "status": pa.array([REQUEST_STATUSES.index(status)], pa.int8()),
            "request_last_ns": [sent_s * S],
        }
    )
    closed = pa.chunked_array([[None if closed_s is None else closed_s * S]], pa.int64())
    found = with_unknown_answers(requests, closed, HOLE)["status"].to_pylist()
    assert [REQUEST_STATUSES[one] for one in found] == [expected]


def waits(asked_s: int, last_s: int, until_s: int) -> Waits:
    """One wait, whose packets have the numbers of their seconds; until_s: 0 where nothing ended it."""
    values: dict[str, Any] = {each.name: 0 for each in fields(Waits)}
    values |= {"asked_ns": asked_s * S, "asked_packet": asked_s, "last_ns": last_s * S, "last_packet": last_s}
    values |= {"due_ns": (asked_s + 1) * S, "until_ns": until_s * S, "until_packet": until_s}
    return Waits(**{name: np.array([value]) for name, value in values.items()})


def cut(asked_s: int, last_s: int, until_s: int, hole: Uncovered = HOLE) -> list[tuple[float, ...]]:
    """asked, last and until in seconds, then the packets of them, of each wait that is left."""
    found = cut_waits(waits(asked_s, last_s, until_s), hole)
    times = [getattr(found, f"{name}_ns") / S for name in ("asked", "last", "until")]
    packets = [getattr(found, f"{name}_packet") for name in ("asked", "last", "until")]
    assert np.all((found.ended_by == BY_HIDDEN) == ((found.until_ns == 10 * S) & (found.until_packet == 0)))
    return sorted(zip(*(each.tolist() for each in (*times, *packets)), strict=True))


@pytest.mark.parametrize("wait", [(2, 3, 9), (21, 22, 30), (12, 13, 30), (5, 6, 15)])
def test_a_wait_that_is_not_over_the_hole_stays(wait: tuple[int, int, int]) -> None:
    assert cut(*wait) == [(*wait, *wait)]


@pytest.mark.parametrize("until_s", [0, 25])
def test_a_wait_over_the_hole_ends_where_it_begins(until_s: int) -> None:
    assert cut(5, 8, until_s) == [(5, 8, 10, 5, 8, 0)]


def test_where_something_still_asks_afterwards_a_wait_begins_at_the_end_of_the_hole() -> None:
    """Its first packet is the last that asked, as none is known that did at 20 s."""
    assert cut(5, 22, 25) == [(5, 5, 10, 5, 5, 0), (20, 22, 25, 22, 22, 25)]


def test_without_a_hole_everything_stays() -> None:
    assert cut(5, 22, 0, NOTHING_UNCOVERED) == [(5, 22, 0, 5, 22, 0)]
