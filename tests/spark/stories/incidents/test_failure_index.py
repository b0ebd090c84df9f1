"""Failures by time and by what they concern: what is found is what looking at all of them finds."""

import random
from collections.abc import Iterator

from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_index import Failures, Key, followed_until_ns, is_of_time
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS


def failure(start: int, end: int | None, affected_until: int | None = None, host: str = "") -> Failure:
    return Failure(
        PATH,
        "node 1",
        start * SECOND,
        None if end is None else end * SECOND,
        affected_until_ns=None if affected_until is None else affected_until * SECOND,
        hosts=frozenset([host]) if host else frozenset(),
    )


def hosts_of(one: Failure) -> Iterator[Key]:
    yield from (("host", host) for host in one.hosts)


def test_what_follows_from_a_failure_may_come_a_while_after_it() -> None:
    over = failure(0, 10, affected_until=12)
    assert is_of_time(over, 12 * SECOND + FOLLOWS_NS, None)
    assert not is_of_time(over, 13 * SECOND + FOLLOWS_NS, None)


def test_what_follows_from_a_failure_may_come_a_second_before_it() -> None:
    assert is_of_time(failure(10, 20), 1 * SECOND, 9 * SECOND)
    assert not is_of_time(failure(10, 20), 1 * SECOND, 8 * SECOND)
    assert is_of_time(failure(10, None), 500 * SECOND, None)


def test_of_all_keys_the_failure_with_the_longest_time_in_common() -> None:
    short, long, other = failure(0, 10, host="a"), failure(0, 30, host="b"), failure(0, None, host="c")
    known = Failures([short, long, other], hosts_of)
    keys: list[Key] = [("host", "a"), ("host", "b"), ("host", "none")]
    assert known.longest(keys, 5 * SECOND, 20 * SECOND) == (15 * SECOND, long)
    assert known.longest(keys, 5 * SECOND, 20 * SECOND, lambda f: f is not long) == (5 * SECOND, short)
    assert known.longest([("host", "none")], 5 * SECOND, None) is None


def test_what_is_found_is_what_looking_at_each_failure_finds() -> None:
    chance = random.Random(1)
    failures = []
    for _ in range(200):
        start = chance.randrange(1000)
        end = chance.choice([None, start + chance.randrange(40)])
        failures.append(failure(start, end, host=chance.choice("abc")))
    known, followed = Failures(failures, hosts_of), Failures(failures, hosts_of, followed_until_ns)
    for _ in range(200):
        since = chance.randrange(1000) * SECOND
        until, begun_by = since + chance.randrange(20) * SECOND, since + chance.randrange(-5, 20) * SECOND
        host = chance.choice("abc")
        mine = sorted((f for f in failures if host in f.hosts), key=lambda f: f.start_ns)
        begun = [(f.overlap_ns(since, until), f) for f in mine if f.start_ns <= begun_by]
        near = [each for each in begun if each[0] >= -SECOND]
        expected = max(near, key=lambda each: each[0], default=None)
        assert known.longest([("host", host)], since, until, begun_by_ns=begun_by) == expected
        met = [f for f in mine if f.start_ns <= until and followed_until_ns(f) >= since]
        latest = list(followed.latest(("host", host), since, until))
        assert latest == sorted(met, key=lambda f: -f.start_ns)
        assert known.in_order(latest) == met
        assert [f for _, f in known.after(("host", host), since)] == [f for f in mine if f.start_ns > since]
