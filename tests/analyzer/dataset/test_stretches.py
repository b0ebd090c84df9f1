"""Which of many stretches of time another one meets, and for how long: as if each of them were looked at."""

import random

from kafkascope_analyzer.dataset.stretches import FOREVER, NEAR_NS, Stretches

S = 1_000_000_000


def stretches(*listed: tuple[float, float, str]) -> Stretches[str]:
    return Stretches((int(start * S), int(end * S), name) for start, end, name in listed)


def longest(of: Stretches[str], start: float, end: float) -> str | None:
    found = of.longest(int(start * S), int(end * S))
    return found[1] if found is not None else None


def test_the_one_with_the_longest_time_in_common() -> None:
    of = stretches((10, 14, "short"), (12, 30, "long"))
    assert of.longest(11 * S, 20 * S) == (8 * S, "long")
    assert of.longest(10 * S, 12 * S) == (2 * S, "short")
    assert of.longest(40 * S, 41 * S) is None
    assert of.longest(11 * S, 20 * S, lambda name: name != "long") == (3 * S, "short")
    assert of.longest(11 * S, 20 * S, lambda _: False) is None


def test_of_two_that_have_equally_much_the_first_listed() -> None:
    assert longest(stretches((12, 20, "late"), (10, 20, "early")), 12, 18) == "late"


def test_what_comes_within_a_second_of_it_is_near() -> None:
    over = stretches((10, 14, "over"))
    assert over.longest(15 * S, 16 * S) == (-NEAR_NS, "over")
    assert longest(over, 15.1, 16) is None
    assert longest(over, 8, 9) == "over"
    assert longest(over, 8, 8.9) is None


def test_nothing_is_overlooked_among_hundreds() -> None:
    chance = random.Random(3)
    listed = []
    for number in range(300):
        start = chance.uniform(0, 900)
        end = chance.choice([1000.0, start + chance.uniform(0, 60)])
        listed.append((int(start * S), int(end * S), number))
    of = Stretches(listed)
    for _ in range(300):
        start_ns = int(chance.uniform(0, 950) * S)
        end_ns, group = start_ns + int(chance.uniform(0, 30) * S), chance.randrange(40)
        common = [(min(last, end_ns) - max(first, start_ns), n) for first, last, n in listed if n % 40 == group]
        able = [each for each in common if each[0] >= -NEAR_NS]
        expected = max(able, key=lambda each: each[0], default=None)
        assert of.longest(start_ns, end_ns, lambda number, group=group: number % 40 == group) == expected


def test_what_meets_a_time_is_what_looking_at_each_of_them_finds() -> None:
    chance = random.Random(4)
    for _ in range(300):
        starts = [chance.randrange(40) for _ in range(chance.randrange(6))]
        listed = [
            (start, chance.choice([FOREVER, start + chance.randrange(9)]), name) for name, start in enumerate(starts)
        ]
        of, start = Stretches(listed), chance.randrange(50)
        end = start + chance.randrange(9)
        meeting = [name for first, last, name in listed if first <= end and last >= start]
        assert list(of.meeting(start, end)) == meeting
        assert of.meet(start, end) == bool(meeting)
        assert of.cover(start) == any(first <= start <= last for first, last, _ in listed)
        assert of.overlap(start, end) == any(first < end and last > start for first, last, _ in listed)
