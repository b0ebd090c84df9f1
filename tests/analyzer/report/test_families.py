"""To which of many incidents something belongs: as if each of them were looked at."""

import random
from typing import Any

from kafkascope_analyzer.report.model.incidents.families import NEAR_NS, Event, Family, Owners

S = 1_000_000_000
END = 1000 * S
NO_ROOT: Any = None


def family(start: float, end: float | None, *nodes: int) -> Family:
    end_ns = None if end is None else int(end * S)
    return Family(NO_ROOT, start_ns=int(start * S), end_ns=end_ns, nodes=set(nodes))


def event(start: float, end: float, *nodes: int) -> Event:
    return Event(int(start * S), int(end * S), nodes=frozenset(nodes))


def test_the_family_that_it_overlaps_longest_with_a_broker_in_common() -> None:
    short, long, of_another = family(10, 14, 1), family(12, 30, 1), family(0, 100, 2)
    owners = Owners([of_another, short, long], END)
    assert owners.owner_of(event(11, 20, 1)) is long
    assert owners.owner_of(event(10, 12, 1)) is short
    assert owners.owner_of(event(40, 41, 1)) is None
    assert owners.nodes == {1, 2}


def test_of_two_that_it_overlaps_for_equally_long_the_first_listed() -> None:
    late, early = family(12, 20, 1), family(10, 20, 1)
    assert Owners([late, early], END).owner_of(event(12, 18, 1)) is late


def test_what_comes_within_a_second_of_it_belongs_to_it() -> None:
    over = family(10, 14, 1)
    assert Owners([over], END).owner_of(event(15, 16, 1)) is over
    assert Owners([over], END).owner_of(event(15.1, 16, 1)) is None
    assert Owners([over], END).owner_of(event(8, 9, 1)) is over


def test_one_that_is_not_over_lasts_to_the_end_of_the_capture() -> None:
    still_open = family(10, None, 1)
    assert Owners([family(20, 30, 2), still_open], END).owner_of(event(900, 901, 1)) is still_open


def test_nothing_is_overlooked_among_hundreds() -> None:
    chance = random.Random(3)
    families = []
    for _ in range(300):
        start = chance.uniform(0, 900)
        families.append(family(start, chance.choice([None, start + chance.uniform(0, 60)]), chance.randrange(40)))
    owners = Owners(families, END)
    for _ in range(300):
        start = chance.uniform(0, 950)
        one = event(start, start + chance.uniform(0, 30), chance.randrange(40))
        able = [f for f in families if f.nodes & one.nodes]
        able = [f for f in able if f.overlap_ns(one.start_ns, one.end_ns, END) >= -NEAR_NS]
        assert owners.owner_of(one) is max(
            able, key=lambda f: f.overlap_ns(one.start_ns, one.end_ns, END), default=None
        )
