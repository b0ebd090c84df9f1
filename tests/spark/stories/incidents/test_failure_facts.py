"""What is added to a failure when its place failed again."""

from kafkascope_spark.stories.incidents.failures.failure_facts import (
    BrokerProcess,
    EndedSession,
    GroupMembers,
    ResponseTimes,
    SilentLeader,
    add_rows,
)
from kafkascope_spark.stories.incidents.packets.latencies import Latencies, Latency
from kafkascope_spark.stories.incidents.packets.long_polls import HeldRequest
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest

from .conftest import NS, row_of


def session(over_s: int) -> EndedSession:
    return EndedSession(2, "node 2", "10.0.0.2", 6_000, 0, over_s * NS, False, None, False, ())


def test_rows_are_added_once_each_even_if_two_are_equal() -> None:
    """Two requests with the same values are two requests."""
    one, same = (HeldRequest("beat", "Heartbeat", 0, 1, 500, 7) for _ in range(2))
    rows = [one]
    add_rows(rows, [one, same])
    assert [id(row) for row in rows] == [id(one), id(same)]


def test_a_process_keeps_its_last_session() -> None:
    process = BrokerProcess(reopened_ns=5, session=session(1))
    process.add(BrokerProcess(reopened_ns=9, session=session(8)))
    process.add(BrokerProcess())
    assert process.session == session(8)
    assert process.reopened_ns is None, "it is known of the last restart alone"


def test_members_and_responses_of_both_times() -> None:
    held = [HeldRequest(name, "Heartbeat", 0, 1, 500, 7) for name in ("a", "b")]
    members = GroupMembers(held=held[:1])
    members.add(GroupMembers(held=held))
    assert members.held == held

    pair, other = ("10.0.0.21", 2), ("10.0.0.22", 2)
    times = ResponseTimes({"a": row_of(UnansweredRequest)}, Latencies({pair: Latency(2, 1, 7 * NS, NS)}))
    later = {pair: Latency(3, 2, 5 * NS, 2 * NS), other: Latency(1, 0, NS, NS)}
    times.add(ResponseTimes({"b": row_of(UnansweredRequest)}, Latencies(later)))
    assert set(times.unanswered) == {"a", "b"}
    assert times.latencies.of_pairs == {pair: Latency(5, 3, 7 * NS, 2 * NS), other: Latency(1, 0, NS, NS)}


def test_whether_a_leader_took_longer_than_its_session() -> None:
    """The coordinator removes members that send no heartbeat for the session timeout."""

    def leader(sent_s: int | None, session_ms: int | None) -> SilentLeader:
        sent_ns = None if sent_s is None else (5 + sent_s) * NS
        return SilentLeader("app", "10.0.0.21", 3, 5 * NS, 2, sent_ns, session_timeout_ms=session_ms)

    assert leader(10, 10_000).is_over_session
    assert not leader(9, 10_000).is_over_session
    assert not leader(10, None).is_over_session
    assert not leader(None, 10_000).is_over_session
