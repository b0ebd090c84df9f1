"""When records waited for a group, from hand-made runs of its members."""

from dataclasses import replace

import pytest

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.tables.event_kinds.services import FetchRun
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.consume import AWAY_NS, Reads, consume_waits

S = 1_000_000_000


def member(name="ci-1", first=0, left=None, closed=True, fetched=None, joined=None):
    """fetched: its last Fetch request; as it ends if not given. joined: its last JoinGroup."""
    left_ns = None if left is None else round(left * S)
    fetched_ns = left_ns if fetched is None else round(fetched * S)
    joined_ns = None if joined is None else round(joined * S)
    return ServiceClient(
        name, "10.0.0.1", name, "g", first * S, None, fetched_ns, joined_ns, left_ns, left is not None and closed
    )


def run(first, last, offsets, accepted=None, who="ci-1", answer=(None, None, 0), asked=None, held=None):
    """answer: first offset of the last response, since when that was there, and when the response before that came;
    asked: when the first request was sent; held: until when the broker might wait for more records."""
    return FetchRun(
        topic="t",
        partition=0,
        node_id=1,
        request_id=f"{who}-{first}",
        last_request_id=f"{who}-{last}",
        n=1,
        n_records=1,
        asked_ns=None if asked is None else round(asked * S),
        held_until_ns=None if held is None else round(held * S),
        first_ns=round(first * S),
        last_ns=round(last * S),
        first_offset=offsets[0],
        next_offset=offsets[1],
        next_accepted_ns=None if accepted is None else round(accepted * S),
        last_answer_offset=answer[0],
        last_answer_accepted_ns=None if answer[1] is None else round(answer[1] * S),
        before_last_ns=round(answer[2] * S),
        client_instance_id=who,
    )


def waits_of(runs, members=None, elsewhere=()):
    """elsewhere: runs of other topic-partitions."""
    return list(consume_waits(runs, members or [member()], Reads([*runs, *elsewhere])))


def spans(runs, members=None, elsewhere=()):
    return [(w.from_ns / S, None if w.to_ns is None else w.to_ns / S) for w in waits_of(runs, members, elsewhere)]


def test_a_record_waits_from_its_acceptance_until_a_fetch_brings_it():
    assert spans([run(0, 10, (0, 100), 12), run(15, 20, (100, 150))]) == [(12, 15)]


def test_a_record_that_was_there_before_waits_from_the_last_progress():
    assert spans([run(0, 10, (0, 100), 3), run(15, 20, (100, 150))]) == [(10, 15)]


def test_what_a_client_asked_for_is_no_wait():
    """It let the broker collect records until 14 s, and until 17 s."""
    assert spans([run(0, 10, (0, 100), 11), run(15, 20, (100, 150), held=14)]) == [(14, 15)]
    assert spans([run(0, 10, (0, 100), 11), run(15, 20, (100, 150), held=17)]) == []


@pytest.mark.parametrize(
    ("asked", "who", "expected"),
    [(14.9, "ci-1", 2.9), (10.5, "ci-1", 0), (None, "ci-1", 0), (14.9, "ci-2", 0), (15.5, "ci-1", 3)],
)
def test_a_wait_knows_for_how_long_nobody_asked(asked, who, expected):
    """Records were there from 12 s on, and came at 15 s. Another member may have had to wait for the partition."""
    (wait,) = waits_of(
        [run(0, 10, (0, 100), 12), run(15, 20, (100, 150), asked=asked, who=who)], [member(), member(who)]
    )
    assert wait.unasked_ns == round(expected * S)


@pytest.mark.parametrize(
    ("fetched", "left", "expected"), [(9.5, None, FOREVER), (10.5, None, 0), (None, None, 0), (9.5, 30, 0)]
)
def test_what_nobody_brings_is_unasked_where_the_client_fetched_no_more(fetched, left, expected):
    """Its last response came at 10 s: a Fetch that it sent later may be on the way."""
    (wait,) = waits_of([run(0, 10, (0, 100), 12)], [member(fetched=fetched, left=left)])
    assert wait.unasked_ns == expected


def test_nothing_to_read_is_no_wait():
    assert spans([run(0, 10, (0, 100), 15), run(15, 20, (100, 150))]) == []
    assert spans([run(0, 10, (0, 100))]) == []


def test_progress_of_another_member_is_service():
    other = run(10.2, 20, (100, 180), 21, who="ci-2")
    again = run(21.2, 30, (180, 200), who="ci-1")
    assert spans([run(0, 10, (0, 100), 10.1), other, again], [member(), member("ci-2")]) == [(10.1, 10.2), (21, 21.2)]


def test_reading_again_what_a_member_has_is_no_progress():
    again = run(12, 13, (50, 100), 10.5, who="ci-2")
    assert spans([run(0, 10, (0, 100), 10.5), again, run(16, 20, (100, 120))]) == [(10.5, 16)]


@pytest.mark.parametrize(
    ("taken_over", "result"),
    [
        (run(14, 20, (99, 150), who="ci-2"), [(10, 14)]),
        (run(14, 14, (99, 100), who="ci-2"), [(10, 14)]),
        (run(14, 20, (98, 150), who="ci-2"), [(12, 14)]),
        (run(14, 20, (99, 150), who="ci-1"), [(10, 14)]),
        (run(14, 20, (100, 150), who="ci-1"), [(12, 14)]),
    ],
    ids=["goes on after it", "nothing more is there", "earlier: committed long ago", "itself", "it was read"],
)
def test_a_response_that_a_member_begins_with_again_was_not_read(taken_over, result):
    """As recorded of a member that SIGSTOP stopped: its socket took one more record, which its heir read 6 s later."""
    stopped = run(0, 10.1, (0, 100), 12, answer=(99, 10, 9))
    assert spans([stopped, taken_over], [member(), member("ci-2")]) == result


@pytest.mark.parametrize(
    ("receiver", "heir_offset", "result"),
    [
        (member(left=10.3), 96, [(10, 14)]),
        (member(left=10.3), 100, [(12, 14)]),
        (member(left=12), 96, [(12, 14)]),
        (member(left=10.3, closed=False), 96, [(12, 14)]),
    ],
    ids=["closing", "it had committed all", "it closed later", "it died, and may have read it"],
)
def test_a_response_that_comes_to_a_closing_member_is_read_by_the_next(receiver, heir_offset, result):
    """As recorded of a sarama consumer that committed seldom: a record comes 0.1 s before it leaves its group, and the
    other member reads it 1.3 s later."""
    closing = run(0, 10.1, (0, 100), 12, answer=(99, 10, 9))
    heir = run(14, 20, (heir_offset, 150), who="ci-2")
    assert spans([closing, heir], [receiver, member("ci-2")]) == result


def test_a_record_that_a_living_member_had_before_the_rebalance_is_read_twice_and_did_not_wait():
    """As recorded: a member gave a topic-partition away before it had committed, and went on with its others."""
    had = run(0, 10.1, (0, 100), 12, answer=(99, 10, 9))
    heir = run(11, 20, (99, 150), who="ci-2")
    members = [member(), member("ci-2")]
    assert spans([had, heir], members, [run(11.2, 20, (40, 90))]) == []
    assert spans([had, heir], members, [run(0, 10, (40, 90)), run(18, 20, (90, 95))]) == [(10, 11)]


def test_a_member_that_was_thrown_out_and_wakes_up_takes_nothing_over():
    """As recorded: the stopped member goes on where it was (offset 100), 8 s later, while its heir goes on too."""
    stopped = run(0, 10.1, (0, 100), 12, answer=(99, 10, 9))
    heir = run(14, 15, (99, 101), 19, who="ci-2", answer=(100, 14.5, 14))
    woken = run(17, 17, (100, 101), 19, answer=(100, 14.5, 0))
    goes_on = run(19.1, 30, (101, 150), who="ci-2")
    assert spans([stopped, heir, woken, goes_on], [member(), member("ci-2")]) == [(10, 14), (19, 19.1)]


def test_a_backlog_waits_from_the_response_before_the_one_that_was_dropped():
    stopped = run(0, 10, (0, 100), 3, answer=(50, 2, 9))
    assert spans([stopped, run(14, 20, (50, 150), who="ci-2")], [member(), member("ci-2")]) == [(9, 14)]


def test_a_group_that_goes_back_to_the_beginning_reads_from_there():
    runs = [run(0, 10, (0, 100), 11), run(12, 13, (0, 60), 12.5), run(15, 16, (60, 130))]
    assert spans(runs) == [(11, 12), (13, 15)]


def test_what_nobody_brings_waits_until_the_end_or_until_the_group_ends():
    runs = [run(0, 10, (0, 100), 12)]
    assert spans(runs) == [(12, None)]
    assert spans(runs, [member(left=30)]) == [(12, 30)]
    assert spans(runs, [member(left=11)]) == []
    brought = [*runs, run(15, 20, (100, 150))]
    assert [wait.served for wait in (*waits_of(brought), *waits_of(runs, [member(left=30)]))] == [True, False]


def test_a_consumer_without_a_group_wants_only_what_it_fetches():
    alone = replace(member(), group_id=None)
    assert spans([run(0, 10, (0, 100), 12)], [alone]) == []
    assert spans([run(0, 10, (0, 100), 12), run(15, 20, (100, 150))], [alone]) == [(12, 15)]


def test_a_member_that_closes_has_stopped_reading_with_its_last_fetch():
    """Recorded: a member stops fetching, and its connections end 5 s later, when it has reached its coordinator."""
    runs = [run(0, 10, (0, 100), 10.5)]
    assert spans(runs, [member(left=15, fetched=10.2)]) == []
    assert spans(runs, [member(left=15, fetched=14.5)]) == [(10.5, 15)]
    assert spans(runs, [member(left=15, fetched=10.2, closed=False)]) == [(10.5, 15)]
    assert spans(runs, [member(left=15, fetched=10.2), member("ci-2", left=15, fetched=14)]) == [(10.5, 15)]


@pytest.mark.parametrize(
    ("heir", "result"),
    [
        ({"left": 12.1, "fetched": 12}, []),
        ({"left": 12.1, "fetched": 12, "joined": 11}, [(10.5, 12.1)]),
        ({"left": 12.1, "fetched": 12, "closed": False}, [(10.5, 12.1)]),
        ({"left": 18, "fetched": 17.9}, [(10.5, 18)]),
    ],
    ids=["it closes, too", "it had learned of it", "it dies", "it had the time to learn of it"],
)
def test_a_member_that_closes_soon_after_another_need_not_take_over(heir, result):
    """Recorded: both members of a group are stopped, the second one a second after the first, before its next
    heartbeat could have told it to join again."""
    runs = [run(0, 10, (0, 100), 10.5)]
    members = [member(left=10.6, fetched=10.2), member("ci-2", **heir)]
    assert spans(runs, members)[:1] == result


def test_a_member_that_joins_again_before_it_closes_wanted_to_go_on():
    """Recorded: kafkajs was told to join again at 13.5 s, sent nothing from 13.7 s on, joined at 18.06 s, and left."""
    runs = [run(0, 13.7, (0, 100), 13.72)]
    assert spans(runs, [member(left=18.08, fetched=13.5)]) == []
    assert spans(runs, [member(left=18.08, fetched=13.5, joined=18.06)]) == [(13.72, 18.08)]
    assert spans(runs, [member(left=18.08, fetched=13.5, joined=1)]) == []


def test_a_member_that_stalled_for_long_before_it_closed_did_not_stop_reading():
    """Recorded: kafkajs does not find its moved coordinator, stops reading, and is stopped 13 s later."""
    runs = [run(0, 10, (0, 100), 10.5)]
    assert spans(runs, [member(left=24, fetched=10.2)]) == [(10.5, 24)]


def test_a_group_that_all_have_left_wants_nothing():
    runs = [run(0, 10, (0, 100), 10.5), run(40, 50, (100, 200), who="ci-2")]
    assert spans(runs, [member(left=12), member("ci-2", 38)]) == [(10.5, 12)]


def test_a_member_that_died_is_waited_for():
    runs = [run(0, 10, (0, 100), 10.5), run(40, 50, (100, 200), who="ci-2")]
    assert spans(runs, [member(left=11, closed=False), member("ci-2", 38)]) == [(10.5, 40)]
    away = 11 + AWAY_NS // S
    late = [run(0, 10, (0, 100), 10.5), run(away + 100, away + 110, (100, 200), who="ci-2")]
    assert spans(late, [member(left=11, closed=False), member("ci-2", away + 90)]) == [(10.5, away)]


def test_the_broker_of_a_wait_is_the_one_that_was_read_before():
    (wait,) = waits_of([run(0, 10, (0, 9), 12), run(15, 20, (9, 20), who="ci-2")])
    assert (wait.client_instance_id, wait.node_id) == ("ci-2", 1)
    assert wait.requests == ((10 * S, "ci-1-10"), (15 * S, "ci-2-15"))


def test_a_share_group_gets_other_records_of_the_same_batch():
    """Recorded: two ShareFetch responses with the batch that begins at offset 0; six of its records are in the first,
    the rest in the second. The batch had been accepted long before the group began to read."""
    first, second = run(19.0, 19.1, (0, 6), 5.9, answer=(0, 5.9, 0)), run(20.4, 21, (0, 40))
    assert spans([first, second], [replace(member(), shares=True)]) == [(19.1, 20.4)]
    assert spans([first, second], [member()]) == [(5.9, 20.4)]
