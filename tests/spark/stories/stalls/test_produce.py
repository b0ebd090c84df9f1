"""When the records of a producer waited, from hand-made events."""

from dataclasses import replace

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.services import ProduceWait
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.produce import GIVE_UP_NS, produce_waits
from kafkascope_spark.stories.stalls.stall import join_waits

S = 1_000_000_000


def client(first_accepted=1, left=None):
    accepted_ns = None if first_accepted is None else first_accepted * S
    return ServiceClient(
        "ci-1",
        "10.0.0.1",
        "app",
        None,
        0,
        accepted_ns,
        None,
        None,
        None if left is None else left * S,
        left is not None,
    )


def wait(created, sent, accepted=None, ended=None, error=None, n=1, longest=None):
    at = lambda t: None if t is None else round(t * S)  # noqa: E731
    return ProduceWait(
        topic="t",
        partition=0,
        node_id=3,
        request_id=f"r-{sent}",
        last_request_id=f"r-{sent}",
        n=n,
        created_ns=at(created),
        sent_ns=at(sent),
        last_sent_ns=at(sent),
        accepted_ns=at(accepted),
        longest_ns=at(
            accepted - created if longest is None and accepted is not None and created is not None else longest
        ),
        ended_ns=at(ended if ended is not None else accepted),
        error_name=error,
        n_records=n,
        client_instance_id="ci-1",
    )


def accepted_only(at):
    return wait(None, None, at)


def spans(events, who=None):
    found = list(produce_waits(events, who or client()))
    return [(each.from_ns / S, None if each.to_ns is None else each.to_ns / S) for each in found]


def test_a_batch_waits_from_its_creation_until_it_is_accepted():
    assert spans([wait(10, 12, 15)]) == [(10, 15)]


def test_batches_that_overlap_are_a_stall_only_where_one_of_them_waits_for_long():
    """Recorded: 52 batches of one producer at once, each accepted within 0.8 s, the last 1.9 s after the first."""
    together = wait(10, 10, 11.9, n=52)
    busy, stalled = (
        join_waits(produce_waits([replace(together, longest_ns=longest)], client()), 60 * S, S)
        for longest in (round(0.8 * S), round(1.2 * S))
    )
    assert (len(busy), len(stalled)) == (0, 1)


def test_what_waits_before_the_first_success_is_the_start():
    assert spans([wait(10, 12, 15)], client(first_accepted=15)) == []
    assert spans([wait(10, 12, 18)], client(first_accepted=15)) == [(15, 18)]
    assert spans([wait(10, 12, 15)], client(first_accepted=None)) == []


def test_a_failed_attempt_waits_until_the_next_that_was_sent_after_it_is_accepted():
    refused = wait(10, 10, None, 11, "NOT_LEADER_OR_FOLLOWER")
    assert spans([refused, wait(10, 14, 15)]) == [(10, 15), (10, 15)]
    in_flight = wait(9, 9.9, 10.5)
    assert spans([in_flight, refused, wait(10, 14, 15)])[1] == (10, 15)


def test_the_late_answer_to_what_was_sent_again_elsewhere_ends_nothing():
    """A firewall held the first attempt back; when it was lifted the broker refused what it had got meanwhile."""
    late = wait(10, 10, None, 24, "OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert spans([late, wait(10, 19, 20)])[0] == (10, 20)


def test_a_batch_of_which_only_the_acceptance_is_known_ends_what_failed_before():
    refused = wait(10, 10, None, 11, "NOT_LEADER_OR_FOLLOWER")
    assert spans([refused, accepted_only(10.5), accepted_only(13)]) == [(10, 13)]


def test_a_final_refusal_is_no_wait():
    assert spans([wait(10, 10, None, 10.1, "MESSAGE_TOO_LARGE")]) == [(10, 10.1)]


def test_what_is_never_accepted_waits_until_the_client_leaves():
    assert spans([wait(10, 10)]) == [(10, None)]
    assert spans([wait(10, 10)], client(left=30)) == [(10, 30)]


def test_only_what_is_accepted_in_the_end_was_served():
    served = lambda *events, who=None: [w.served for w in produce_waits(events, who or client())]  # noqa: E731
    refused = wait(10, 10, None, 11, "NOT_LEADER_OR_FOLLOWER")
    assert served(wait(10, 12, 15)) == [True]
    assert served(refused, accepted_only(13)) == [True]
    assert served(refused, accepted_only(11 + GIVE_UP_NS // S + 1)) == [False]
    assert served(wait(10, 10), who=client(left=30)) == [False]


def test_what_was_given_up_does_not_wait_for_another_batch_long_after():
    refused = wait(10, 10, None, 11, "NOT_LEADER_OR_FOLLOWER")
    later = 11 + GIVE_UP_NS // S + 1
    assert spans([refused, accepted_only(later)]) == [(10, 11)]


@pytest.mark.parametrize(("longest", "expected"), [(0.8, False), (1.3, True), (9, True)])
def test_batches_that_are_all_accepted_in_time_are_no_stall_however_many_are_in_flight(longest, expected):
    """As recorded of a Java 1.0 producer on a busy host: 7 requests within 1.9 s, each answered within 0.83 s."""
    joined = join_waits(produce_waits([wait(10, 10, 11.9, n=7, longest=longest)], client()), 30 * S, S)
    assert bool(joined) is expected


@pytest.mark.parametrize("who", [client()])
def test_a_wait_names_its_requests_and_errors(who):
    (one,) = produce_waits([wait(10, 12, None, 13, "NOT_LEADER_OR_FOLLOWER", n=4)], who)
    assert (one.node_id, one.n_attempts, one.error_names) == (3, 4, frozenset({"NOT_LEADER_OR_FOLLOWER"}))
    assert one.requests == ((12 * S, "r-12"),)


def test_copies_that_the_kernel_sends_when_their_batches_are_long_accepted_elsewhere_do_not_wait():
    """Recorded: a broker's link was down for 17 s. The client had sent its batches again to the new leader after 5 s;
    23 s later its kernel sent the first copies, together with the FIN of the connection that the client had closed."""
    elsewhere = wait(10.3, 15.3, 15.4, n=7)
    late_copies = wait(10.8, 38.6, n=4)
    assert spans([elsewhere, late_copies, accepted_only(38.63)]) == [(10.3, 15.4)]
    newer = wait(15.6, 38.6)
    assert (15.6, 38.63) in spans([elsewhere, newer, accepted_only(38.63)])


def test_copies_that_a_broker_refuses_when_their_client_has_gone_on_elsewhere_did_not_fail():
    """Recorded: a client host's link was down for 15 s. The client had sent its batches again on a new connection;
    12 s later its kernel sent the first copies, which the broker refused: their sequence numbers were old."""
    elsewhere = wait(11.4, 27.3, 27.4, n=7)
    copies = replace(wait(11.5, 39.4, ended=39.43, error="OUT_OF_ORDER_SEQUENCE_NUMBER"), request_id="old-16")
    who = replace(client(left=45), late_copies=(("old", 39 * S),))
    assert spans([elsewhere, copies], who) == [(11.4, 27.4)]
    assert len(spans([elsewhere, copies])) == 2
    before = replace(copies, sent_ns=38 * S)
    assert len(spans([elsewhere, before], who)) == 2


def harmed(*events, who=None):
    return [(w.n_late, w.n_failed) for w in produce_waits(events, who or client())]


def test_records_that_were_accepted_late_are_counted():
    assert harmed(wait(10, 10, 12, n=7)) == [(7, 0)]


def test_records_that_were_refused_for_good_failed():
    assert harmed(wait(10, 10, None, 12, "TOPIC_AUTHORIZATION_FAILED", n=3), wait(13, 13, 14)) == [(0, 3), (1, 0)]


def test_records_that_may_have_been_sent_again_did_not_fail():
    refused = wait(10, 10, None, 12, "TOPIC_AUTHORIZATION_FAILED", n=3)
    assert harmed(refused, wait(9, 13, 14)) == [(0, 0), (1, 0)]
    assert harmed(refused, accepted_only(14))[0] == (0, 0)
    assert harmed(wait(10, 10, None, 12, "NOT_LEADER_OR_FOLLOWER"), wait(13, 13, 14))[0] == (0, 0)


def test_records_that_a_client_left_with_failed():
    assert harmed(wait(10, 10, None, 12, "NOT_LEADER_OR_FOLLOWER", n=4), who=client(left=20)) == [(0, 4)]
