"""Failures by time and client: what a rule is shown is what it could choose from among all."""

import random

from kafkascope_spark.incidents.failure import FOLLOWS_NS, SECOND, Failure
from kafkascope_spark.incidents.failure_index import Failures


def failure(start: int, end: int | None, affected_until: int | None = None, client: str = "") -> Failure:
    return Failure(
        "broker_down",
        "node 1",
        start * SECOND,
        None if end is None else end * SECOND,
        affected_until_ns=None if affected_until is None else affected_until * SECOND,
        client_instance_ids={client} if client else set(),
    )


def test_only_failures_of_about_that_time():
    before, during, open_ended, later = failure(0, 10), failure(90, 110), failure(50, None), failure(200, 210)
    assert Failures([later, open_ended, during, before]).at(100 * SECOND, 120 * SECOND) == [open_ended, during]


def test_what_follows_from_a_failure_may_come_a_while_after_it():
    over = failure(0, 10, affected_until=12)
    assert Failures([over]).at(12 * SECOND + FOLLOWS_NS, None) == [over]
    assert Failures([over]).at(13 * SECOND + FOLLOWS_NS, None) == []


def test_a_client_keeps_the_failures_that_it_met():
    met = failure(0, 10, client="ci-1")
    assert Failures([met]).at(500 * SECOND, 501 * SECOND, "ci-1") == [met]
    assert Failures([met]).at(500 * SECOND, 501 * SECOND, "ci-2") == []


def test_nothing_that_has_time_in_common_is_left_out_and_the_order_stays():
    chance = random.Random(1)
    failures = []
    for _ in range(200):
        start = chance.randrange(1000)
        failures.append(failure(start, chance.choice([None, start + chance.randrange(40)])))
    known = Failures(failures)
    for _ in range(200):
        since = chance.randrange(1000) * SECOND
        until = since + chance.randrange(20) * SECOND
        found = known.at(since, until)
        assert {f for f in failures if f.overlap_ns(since, until) >= 0} <= set(found)
        assert found == [f for f in failures if f in set(found)]
