"""Kernels with a little memory of each connection, on rows that are counted by hand."""

import numpy as np

from kafkascope_analyzer.resolve.requests.kernels import NONE, loop_gaps, mark_samples

MS, S = 1_000_000, 1_000_000_000


def test_gaps_of_loops_that_run_beside_each_other() -> None:
    """Two loops, whose requests alternate; the second answer of the first loop is not known."""
    place = np.array([0, 1, 0, 1, 0])
    sent = np.array([0, 5, 100, 45, 250]) * MS
    answered = np.array([3 * MS, 9 * MS, NONE, 49 * MS, 260 * MS])
    last, out = np.full((2, 2), NONE), np.zeros((5, 2), np.int64)
    loop_gaps(place, sent, answered, last, out)
    assert out.tolist() == [[NONE, NONE], [NONE, NONE], [100, 97], [40, 36], [150, NONE]]
    assert last.tolist() == [[250 * MS, 260 * MS], [45 * MS, 49 * MS]]


def test_gaps_go_on_from_what_is_remembered() -> None:
    last, out = np.array([[1 * S, NONE]]), np.zeros((1, 2), np.int64)
    loop_gaps(np.array([0]), np.array([3 * S]), np.array([4 * S]), last, out)
    assert (out.tolist(), last.tolist()) == ([[2_000, NONE]], [[3 * S, 4 * S]])


def marked(*times_s: float, first: int, fine_s: int, clients: tuple[int, ...] = ()) -> list[bool]:
    """Whether each request of one connection is marked. clients: the client id of each."""
    rows = [(0, clients[i] if clients else 7, i, int(at * S)) for i, at in enumerate(times_s)]
    out = np.zeros(len(rows), np.bool_)
    mark_samples(np.array(rows, np.int64), np.full((1, 3), NONE), (first, fine_s * S), out)
    return out.tolist()


def test_the_first_requests_then_the_first_of_each_second() -> None:
    assert marked(0.1, 0.2, 0.3, 0.9, 1.0, 1.5, 2.1, first=2, fine_s=60) == [
        True,
        True,
        False,
        False,
        True,
        False,
        True,
    ]


def test_the_first_of_each_minute_once_the_connection_is_old() -> None:
    assert marked(0, 9, 10, 11, 59, 60, 119, 120, first=1, fine_s=10) == [
        True,
        True,
        True,  # of the minute that began at 0
        False,
        False,
        True,
        False,
        True,
    ]


def test_another_client_id_begins_anew() -> None:
    assert marked(0.1, 0.2, 0.3, 0.4, first=1, fine_s=60, clients=(7, 7, 8, 8)) == [True, False, True, False]
