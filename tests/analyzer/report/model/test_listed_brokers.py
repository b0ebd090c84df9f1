"""When a broker left the lists of Metadata responses: a disagreement of a moment is no move."""

import pytest

from kafkascope_analyzer.report.model import listed_brokers
from kafkascope_analyzer.report.model.listed_brokers import BACK, GONE, Sighting, broker_moves

S = 1_000_000_000


class Responses:
    """A dataset of Metadata responses: time in seconds, node ids."""

    def __init__(self, *seen: tuple[float, set[int]]) -> None:
        self.seen = [Sighting(int(at * S), f"r{n}", frozenset(nodes)) for n, (at, nodes) in enumerate(seen)]


@pytest.fixture(autouse=True)
def _without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_brokers, "_first_and_last", lambda dataset: dataset.seen)


def moves(*seen: tuple[float, set[int]]) -> list[tuple[float, str, int, str]]:
    return [(m.ts_ns / S, m.what, m.node_id, m.request_id) for m in broker_moves(Responses(*seen))]  # type: ignore[arg-type]


def test_a_broker_that_leaves_and_comes_back() -> None:
    assert moves((0, {1, 2}), (5, {1}), (9, {1, 2})) == [(5, GONE, 2, "r1"), (9, BACK, 2, "r2")]


def test_lists_that_disagree_for_less_than_a_second_are_no_move() -> None:
    assert moves((0, {1, 2}), (5, {1}), (5.5, {1, 2}), (9, {1, 2})) == []
    assert moves((0, {1, 2}), (5, {1}), (5.2, {1, 2}), (5.4, {1}), (9, {1})) == [(5.4, GONE, 2, "r3")]


def test_before_it_was_first_listed_a_broker_was_not_gone() -> None:
    assert moves((0, {1}), (5, {1, 3}), (9, {1, 3})) == []


def test_the_order_of_the_files_does_not_matter() -> None:
    assert moves((9, {1, 2}), (0, {1, 2}), (5, {1})) == [(5, GONE, 2, "r2"), (9, BACK, 2, "r0")]
