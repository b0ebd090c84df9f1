"""Rows of stalls from waits."""

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.stall import MOST_EVIDENCE, StallLimits, Subject, Wait, stalls_of

S = 1_000_000_000
SUBJECT = Subject("produce", "client ci-1", topic="t", partition=0)


def rows(*waits, end=100, least=1, uncovered=()):
    client = ServiceClient("ci-1", "10.0.0.1", "app", None, 0, 0, None, None, None, closed=False)
    limits = StallLimits(end * S, round(least * S), Uncovered.of((a * S, b * S) for a, b in uncovered))
    return stalls_of(SUBJECT, waits, {"ci-1": client}, limits)


def wait(a, b, **more):
    return Wait(round(a * S), None if b is None else round(b * S), "ci-1", 1, **more)


def spans(found):
    return [(row.from_ns / S, row.to_ns and row.to_ns / S) for row in found]


def test_waits_less_than_half_a_second_apart_are_one():
    assert spans(rows(wait(12.4, 14), wait(10, 12), wait(15, 17))) == [(10, 14), (15, 17)]


def test_a_wait_ends_where_a_time_begins_that_no_file_covers():
    found = rows(wait(10, 50), wait(14.5, None), wait(60, 70), uncovered=[(15, 30)])
    assert [(row.from_ns // S, row.to_ns // S, row.served) for row in found] == [
        (10, 15, None),
        (60, 70, True),
    ]
    assert rows(wait(14.5, 50), uncovered=[(15, 30)]) == []


def test_a_wait_within_another_changes_nothing():
    assert spans(rows(wait(10, 20), wait(11, 12), wait(20.2, 21.3))) == [(10, 21.3)]


def test_a_wait_of_less_than_a_second_is_no_stall():
    assert rows(wait(10, 10.999)) == []
    assert rows(wait(10, 10.6), wait(10.3, 10.9), wait(10.8, 11.5), wait(11.6, 12.4)) == []
    assert spans(rows(wait(10, 10.6), wait(10.7, 11.8))) == [(10.7, 11.8)]


def test_short_waits_do_not_make_one_of_two_stalls():
    """Recorded of a kafkajs consumer while brokers restart: it stalled twice, and read slowly in between."""
    waits = wait(21.343, 24.331), wait(24.46, 24.991), wait(25.098, 26.156), wait(26.647, 44.016)
    assert spans(rows(*waits)) == [(21.343, 24.331), (25.098, 44.016)]


def test_short_waits_within_a_stall_belong_to_it():
    inside = wait(11, 11.5, n_attempts=2, error_names=frozenset({"NOT_LEADER_OR_FOLLOWER"}))
    beside = wait(11.8, 12.4, n_attempts=9, error_names=frozenset({"CORRUPT_MESSAGE"}))
    (row,) = rows(beside, inside, wait(10, 12, n_attempts=1))
    assert (row.n_attempts, row.error_names, row.waited_ms) == (3, ("NOT_LEADER_OR_FOLLOWER",), 2_000)


def test_the_limit_decides_which_waits_are_stalls():
    waits = wait(10, 10.6), wait(20, 21.9), wait(30, 32)
    assert spans(rows(*waits, least=0.5)) == [(10, 10.6), (20, 21.9), (30, 32)]
    assert spans(rows(*waits, least=2)) == [(30, 32)]


def test_an_open_stall_has_no_end():
    (row,) = rows(wait(90, None), wait(91, 92))
    assert (row.to_ns, row.waited_ms) == (None, 10_000)


def test_whether_it_was_served_again_is_that_of_the_wait_that_ends_last():
    gave_up = wait(10, 14, served=False)
    served = lambda *waits: [row.served for row in rows(*waits)]  # noqa: E731
    assert served(wait(10, 12)) == [True]
    assert served(gave_up) == [False]
    assert served(gave_up, wait(11, 14.2)) == [True]
    assert served(gave_up, wait(11, 14)) == [True]
    assert served(wait(11, 12), gave_up) == [False]
    assert served(gave_up, wait(11, None)) == [None]


def test_a_row_has_what_all_its_waits_have():
    first = wait(10, 12, n_attempts=2, error_names=frozenset({"B"}), requests=((10, "r1"), (11, "r2")))
    second = wait(11, 14, n_attempts=3, error_names=frozenset({"A"}), requests=((11, "r2"), (13, "r0")))
    (row,) = rows(second, first)
    assert (row.n_attempts, row.error_names, row.client_id) == (5, ("A", "B"), "app")
    assert row.evidence == ("r1", "r2", "r0")


def test_evidence_has_a_limit():
    (row,) = rows(wait(10, 20, requests=tuple((i, f"r{i}") for i in range(100))))
    assert row.evidence == tuple(f"r{i}" for i in range(MOST_EVIDENCE))


def test_the_id_depends_on_subject_and_time_alone():
    (one,), (same,) = rows(wait(10, 12)), rows(wait(10, 50, n_attempts=7), end=300)
    assert one.stall_id == same.stall_id
    (other,) = rows(wait(11, 12))
    assert other.stall_id != one.stall_id


def waited_s(*waits, subject=SUBJECT):
    return [row.waited_ms / 1_000 for row in stalls_of(subject, waits, {}, StallLimits(100 * S, S))]


def test_who_is_served_late_again_and_again_waits_as_long_as_the_longest():
    """Three batches one after the other, each of which is accepted late; and several that overlap."""
    assert waited_s(wait(10, 12), wait(11, 14), wait(14.2, 16)) == [3.0]
    assert waited_s(wait(10, 20, longest_ns=4 * S), wait(19, 22)) == [4.0]


def test_a_wait_that_ended_without_service_goes_on_until_the_next():
    gave_up = wait(10, 14, served=False)
    assert waited_s(gave_up, wait(13, 18), wait(18, 19)) == [8.0]
    assert waited_s(gave_up, wait(14.2, 20, served=False)) == [10.0]
    assert waited_s(gave_up, wait(90, None)) == [4.0, 10.0]


def test_records_are_unasked_where_nobody_asked_for_most_of_the_time():
    unasked = lambda *waits: [row.unasked_ms for row in stalls_of(SUBJECT, waits, {}, StallLimits(100 * S, S))]  # noqa: E731
    assert unasked(wait(10, 14, unasked_ns=3 * S), wait(14, 16)) == [0]
    assert unasked(wait(10, 14, unasked_ns=3 * S), wait(14, 15)) == [3_000]
    assert unasked(wait(10, 14)) == [0]
    assert unasked(wait(10, None, unasked_ns=FOREVER)) == [90_000]
    assert unasked(wait(10, 12, unasked_ns=round(1.9 * S))) == [1_900]


def test_what_is_asked_of_a_coordinator_is_one_wait():
    """JoinGroup and SyncGroup: the member has its place after both."""
    assert waited_s(wait(10, 12), wait(12, 14), subject=Subject("membership", "client ci-1")) == [4.0]
