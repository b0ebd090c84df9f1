"""What each detector of a state finds by itself, and that the states of any events follow on each other."""

import random
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketLoss, SlowProcess
from kafkascope_spark.stories.servers.down import down_stretches, idle_stretches
from kafkascope_spark.stories.servers.lossy import lossy_stretches, without_lossy
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.refusing import refusing_stretches
from kafkascope_spark.stories.servers.rows import states_of
from kafkascope_spark.stories.servers.silent import silent_stretches
from kafkascope_spark.stories.servers.slow import slow_stretches, without_absent
from kafkascope_spark.stories.servers.stretch import Stretch, by_host, patience_ns, stretches_by_host, times_of
from kafkascope_spark.stories.servers.table import StateName

from .conftest import Trace

S = 1_000_000_000


def spans(found: list[Stretch]) -> list[tuple[str, str, float, float | None]]:
    ends = (None if each.end is None else each.end.ts_ns / S for each in found)
    return [(each.host, each.state, each.begin.ts_ns / S, end) for each, end in zip(found, ends, strict=True)]


def stopped(trace: Trace) -> None:
    """Two hosts lose their connections at 10.1 s, one is refused at 12 s, both are served from 30 s on; a third had
    left at 5 s."""
    for host in "ab":
        trace.host(host)
        trace.signs((0.1, 10.0), (30.0, 59.0), host=host)
        trace.lost(host, "fin_server", 0.0, 10.1)
    trace.host("c", last=31.0)
    trace.lost("a", "refused", 12.0, 12.0)
    trace.payload((0.1, 10.0), (30.0, 59.0))


def test_down_is_about_those_who_lost_something_and_idle_about_the_others(trace: Trace) -> None:
    stopped(trace)
    server = trace.record()
    down = down_stretches(server)
    assert spans(down) == [("a", "down", 10.1, 30.0), ("b", "down", 10.1, 30.0)]
    assert spans(idle_stretches(server, down)) == [("c", "unknown", 10.1, 30.0)]
    assert refusing_stretches(server, down) == [], "the refusal belongs to the time in which it was down"


def test_a_refusal_while_another_host_is_served_is_of_that_host_alone(trace: Trace) -> None:
    trace.host("a")
    trace.host("b")
    trace.payload((0.1, 59.0))
    for at in (10.0, 12.0):
        trace.lost("a", "refused", at, at)
    trace.lost("a", "accepted", 14.0, 14.0, accepted_ns=14 * S, accepted_packet_no=140)
    server = trace.record()
    assert down_stretches(server) == []
    (found,) = refusing_stretches(server, [])
    assert spans([found]) == [("a", "refusing", 10.0, 14.0)]
    assert found.n_waiting == 2


def test_silence_ends_with_the_first_packet_and_is_no_part_of_what_was_down(trace: Trace) -> None:
    trace.host("a")
    trace.signs((0.1, 10.0), (20.5, 59.0), host="a")
    trace.wait("a", 10.2, 20.5, last=20.0)
    (found,) = silent_stretches(trace.record(), [])
    assert spans([found]) == [("a", "silent", 10.0, 20.5)]
    assert found.layers == {"packet"}
    down = Stretch("a", "down", Moment(9 * S, 90), Moment(21 * S, 210), True, 1)
    assert silent_stretches(trace.record(), [down]) == []


def test_a_server_that_sends_no_payload_any_more_may_be_silent_and_come_back(trace: Trace) -> None:
    """Recorded: after the first packet a host got handshakes and acknowledgments of it only, to the capture's end."""
    trace.host("a")
    trace.signs((0.1, 10.0), (20.5, 59.0), host="a", layer="packet")
    trace.signs((0.1, 9.0), host="a", layer="payload")
    trace.wait("a", 10.2, 20.5, last=20.0)
    assert spans(silent_stretches(trace.record(), [])) == [("a", "silent", 10.0, 20.5)]


def test_silence_that_somebody_met_late_may_have_begun_since_the_last_packet(trace: Trace) -> None:
    trace.host("a")
    trace.signs((0.1, 10.0), (20.5, 59.0), host="a")
    trace.wait("a", 13.2, 20.5, last=20.0)
    (found,) = silent_stretches(trace.record(), [])
    assert (found.begin.ts_ns - found.lead_ns) / S == 10.0
    assert found.begin.ts_ns / S == 13.2


def test_losses_one_after_the_other_make_a_path_lossy_and_take_a_short_silence_with_them(trace: Trace) -> None:
    trace.host("a")
    for asked, until in ((10.0, 10.9), (12.0, 12.9), (14.0, 14.9)):
        trace.wait("a", asked, until, last=until - 0.01)
    lossy = lossy_stretches(trace.record(), [])
    assert spans(lossy) == [("a", "lossy", 10.0, 14.9)]
    silent = Stretch("a", "silent", Moment(8 * S, 80), Moment(9 * S, 90), True, 1)
    elsewhere = Stretch("b", "silent", Moment(8 * S, 80), Moment(9 * S, 90), True, 1)
    assert list(without_lossy([silent, elsewhere], lossy)) == [elsewhere]
    assert spans(lossy) == [("a", "lossy", 8.0, 14.9)]


@pytest.mark.parametrize(("last_ended_by", "is_lossy"), [("syn_ack", False), ("ack", True)])
def test_attempts_to_connect_that_are_repeated_make_no_path_lossy_by_themselves(
    trace: Trace, last_ended_by: str, is_lossy: bool
) -> None:
    """Recorded: nine of ten SYNs to one broker were lost; whoever had a connection was served."""
    trace.host("a")
    for asked, until, ended_by in ((10.0, 11.0, "syn_ack"), (12.0, 15.0, "syn_ack"), (16.0, 17.0, last_ended_by)):
        trace.wait("a", asked, until, last=until - 0.01, ended_by=ended_by)
    assert bool(lossy_stretches(trace.record(), [])) is is_lossy


def test_random_losses_begin_and_end_within_the_bracket_of_the_path() -> None:
    """Segments are lost at random from 20 s to 40 s, with any probability: 97 of 100 brackets hold both ends."""
    rng = random.Random(11)
    missed = n = 0
    while n < 1_000:
        pauses = (rng.expovariate(rate) for rate in [rng.uniform(0.5, 4)] * 500)
        times = [at for at in accumulate(pauses, initial=20.0) if at < 40.0][1:]
        if len(times) < 6:
            continue
        first, last = (int(at * S) for at in (times[0], times[-1]))
        server = ServerRecord((0, 60 * S))
        server.take(
            1,
            "c1",
            PacketLoss("a", "host", len(times), len(times), len(times), 2, 60, 900, 900, first, 1, last, 2, last),
        )
        (lossy,) = lossy_stretches(server, [])
        n += 1
        missed += lossy.begin.ts_ns - lossy.lead_ns > 20 * S or (lossy.end or lossy.begin).ts_ns + lossy.lag_ns < 40 * S
    assert missed < 0.03 * n


def test_what_is_sent_again_in_one_moment_was_lost_once() -> None:
    """A sender that waited for long sends all again at once: nothing says that packets were lost again and again."""

    def lossy(n_bursts: int, last_ns: int) -> list[Stretch]:
        server = ServerRecord((0, 60 * S))
        server.take(1, "c1", PacketLoss("a", "host", 7, 7, n_bursts, 1, 60, 900, 900, 20 * S, 1, last_ns, 2, last_ns))
        return lossy_stretches(server, [])

    assert not lossy(1, 20 * S + 600_000)
    assert spans(lossy(4, 21 * S)) == [("a", "lossy", 20.0, 21.0)]
    assert lossy(4, 21 * S)[0].lead_ns > lossy(7, 21 * S)[0].lead_ns


def test_late_responses_are_slow_on_two_connections_and_where_nothing_else_explains_them(trace: Trace) -> None:
    trace.host("a")
    for at in (10.0, 11.0):
        trace.wait("a", at, at + 3.0, "request", is_proof=True, is_slow=True, request_id=f"r{at}")
    server = trace.record()
    (found,) = slow_stretches(server, [])
    assert spans([found]) == [("a", "slow", 10.0, 14.0)]
    assert [request for _, request in found.requests] == ["r10.0", "r11.0"]
    frozen = Stretch("b", "frozen", Moment(9 * S, 90), Moment(20 * S, 200), True, 1)
    assert slow_stretches(server, [frozen]) == []


def test_responses_that_have_not_come_when_the_capture_ends_are_late_where_the_requests_arrived(trace: Trace) -> None:
    trace.host("a")
    for at in (50.0, 51.0, 52.0):
        trace.wait("a", at, None, "request", is_proof=True, is_slow=True, request_id=f"r{at}", conn=f"c{at}")
    (found,) = slow_stretches(trace.record(), [])
    assert (found.begin.ts_ns, found.end, found.last_shown_ns) == (50 * S, None, 52 * S)
    for at in (51.0, 52.0):
        trace.wait("a", at, None, "packet", conn=f"c{at}")
    assert slow_stretches(trace.record(), []) == []


def test_a_process_that_is_stuck_is_slow_since_the_first_response_was_late(trace: Trace) -> None:
    """The disk of a broker hangs from 15 to 27 s: what it does by itself is measured as slow from 20 to 31 s only."""
    trace.host("a")
    trace.host("b")
    trace.wait("a", 15.3, 27.6, "request", is_slow=True, request_id="produce")
    for host in ("a", "b"):
        trace.wait(host, 20.7, 27.4, "request", is_proof=True, is_slow=True, request_id=f"fetch-{host}")
    server = trace.record()
    server.slow.append(SlowProcess(40, 12, 2000, (), 20 * S, 200, 31 * S, 310))
    found = slow_stretches(server, [])
    assert spans(found) == [("a", "slow", 15.3, 31.0), ("b", "slow", 15.3, 31.0)]
    assert {stretch.last_shown_ns for stretch in found} == {20 * S + 7 * S // 10}


@pytest.mark.parametrize(
    ("pauses", "until_s", "is_slow"),
    [([20, 25, 30, 35], 38, False), ([20, 54], 57, True), ([20], 38, True)],
    ids=["regular pauses", "too few for all of the time", "a single one"],
)
def test_a_process_that_only_paused_several_times_was_not_slow(
    pauses: list[int], until_s: int, is_slow: bool, trace: Trace
) -> None:
    """Measured as slow from 19 s on. Long garbage collections stop it for 2.5 s each, and it is quick in between."""
    trace.host("a")
    trace.host("b")
    server = trace.record()
    server.slow.append(SlowProcess(40, 5, 2000, (), 19 * S, 190, until_s * S, until_s * 10))
    frozen = [
        Stretch(host, "frozen", Moment(at * S, at * 10), Moment(at * S + 5 * S // 2, at * 10 + 25), True, 1)
        for at in pauses
        for host in ("a", "b")
    ]
    assert bool(slow_stretches(server, frozen)) is is_slow


def test_two_processes_of_one_address_are_not_one_that_was_slow(trace: Trace) -> None:
    trace.host("a")
    trace.host("b")
    server = trace.record()
    server.slow.append(SlowProcess(40, 12, 2000, (), 1 * S, 10, 50 * S, 500))
    ended = [Stretch(host, "down", Moment(19 * S, 190), Moment(34 * S, 340), True, 1) for host in ("a", "b")]
    assert len(slow_stretches(server, [])) == len(slow_stretches(server, ended[:1])) == 2
    assert slow_stretches(server, ended) == []


def test_stretches_by_time_and_host_are_those_that_a_look_at_all_of_them_finds() -> None:
    choice = random.Random(5)
    for _ in range(50):
        made = []
        for _ in range(choice.randrange(6)):
            since, until = sorted(choice.sample(range(20), 2))
            end = choice.choice([Moment(until, 0), None])
            made.append(Stretch(choice.choice("ab"), "silent", Moment(since, 0), end, True, 0))
        from_ns, to_ns = sorted(choice.sample(range(20), 2))
        for host in "abc":
            mine = [each for each in made if each.host == host]
            assert by_host(made)[host] == mine
            near = [each for each in mine if each.begin.ts_ns <= to_ns and _end_ns(each) >= from_ns]
            found = [*times_of(mine).meeting(from_ns, to_ns)]
            assert sorted(map(id, found)) == sorted(map(id, near))
            assert [*map(id, stretches_by_host(made)[host].meeting(from_ns, to_ns))] == [*map(id, found)]


def _end_ns(stretch: Stretch) -> int:
    return FOREVER if stretch.end is None else stretch.end.ts_ns


def test_a_stretch_goes_on_with_a_later_one_and_never_backwards() -> None:
    first = Stretch("a", "silent", Moment(1, 1), Moment(5, 5), True, 2, layers={"packet"})
    first.join(Stretch("a", "silent", Moment(6, 6), None, False, 1, layers={"delivery"}))
    assert (first.begin, first.end, first.resumed, first.n_waiting) == (Moment(1, 1), None, False, 2)
    assert first.layers == {"packet", "delivery"}
    assert not first.goes_back
    assert Stretch("a", "silent", Moment(5, 1), Moment(4, 2), True, 1).goes_back
    assert patience_ns(0, S) == 3 * S
    assert patience_ns(0, 4 * S) == 12 * S


TIMES = st.integers(1, 590).map(lambda tenths: tenths / 10)
HOSTS = st.sampled_from("ab")
CLOSE_KINDS = st.sampled_from(["fin_server", "rst_server", "refused", "unanswered"])
LAYERS = st.sampled_from(["packet", "delivery", "request", "payload"])
SPANS = st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair)))


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(HOSTS, st.sampled_from(["fin_server", "rst_server", "refused", "unanswered"]), SPANS), max_size=8
    ),
    st.lists(st.tuples(HOSTS, SPANS, st.sampled_from(["packet", "delivery", "request", "payload"]), st.booleans())),
    st.lists(SPANS, max_size=4),
)
def test_the_states_of_a_host_follow_on_each_other(
    lost: list[tuple[str, str, tuple[float, float]]],
    waits: list[tuple[str, tuple[float, float], str, bool]],
    payload: list[tuple[float, float]],
) -> None:
    trace = Trace()
    for host in "ab":
        trace.host(host)
        trace.signs((0.1, 5.0), (50.0, 59.0), host=host)
    runs: list[tuple[float, float]] = []
    for begin, end in sorted(payload):
        if not runs or begin > runs[-1][1] + 1:
            runs.append((begin, end))
    trace.payload(*runs)
    for host, kind, (began, ended) in lost:
        trace.lost(host, kind, began, ended)
    for host, (asked, until), layer, is_proof in waits:
        trace.wait(host, asked, until, layer, last=asked, is_proof=is_proof)
    states = list(states_of(trace.record()))
    for host in "ab":
        mine = [state for state in states if state.host == host]
        assert mine, "a host that had a packet of the server has a state"
        assert all(one.until_ns == other.from_ns for one, other in pairwise(mine))
        assert all(one.from_ns <= one.until_ns for one in mine)
        assert mine[-1].state != "serving" or mine[-1].to_ns is None


def _slow(host: str, begin: int, end: int | None, state: StateName = "slow") -> Stretch:
    return Stretch(
        host, state, Moment(begin * S, begin), None if end is None else Moment(end * S, end), end is not None, 1
    )


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ((13, 40), [(2, 13)]),
        ((1, 5), [(5, 24)]),
        ((8, 10), [(2, 8), (10, 24)]),
        ((13, None), [(2, 13)]),
        ((1, 30), []),
        ((30, 40), [(2, 24)]),
    ],
)
def test_a_host_from_which_nothing_comes_sees_no_server_as_slow(
    absent: tuple[int, int | None], expected: list[tuple[int, int]]
) -> None:
    """A recording in which a client host's link was cut at 13.5 s, while a broker was slow from 2 s to 24 s: the host
    is unreachable from 13.5 s on, and not only from 24 s."""
    slow = [_slow("10.0.0.21", 2, 24), _slow("10.0.0.22", 2, 24)]
    gone = [_slow("10.0.0.21", *absent, state="host_silent")]
    found = [(each.host, each.begin.packet_no, each.end and each.end.packet_no) for each in without_absent(slow, gone)]
    assert found == [*(("10.0.0.21", *times) for times in expected), ("10.0.0.22", 2, 24)]
