"""Packets that took long, and what they explain, from events made by hand; real ones are in test_recorded_places.py."""

from collections.abc import Iterable
from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketDelay, PacketLoss, ServerHost, SlowProcess
from kafkascope_spark.stories.servers.delayed import delayed_stretches
from kafkascope_spark.stories.servers.record import ServerEvent, ServerRecord
from kafkascope_spark.stories.servers.rows import states_of

S = 1_000_000_000
HOST = ServerHost("10.0.0.1", 9092, 1, "10.0.0.21", "client", True, False, S, 90 * S)
FROM_HOST = PacketDelay("10.0.0.21", "host", 30, 740, 0, 2, 20 * S, 200, 41 * S, 400)
FROM_SERVER = PacketDelay("10.0.0.21", "server", 20, 900, 0, 1, 22 * S, 220, 39 * S, 390)
LATER = PacketDelay("10.0.0.21", "host", 20, 600, 0, 1, 60 * S, 600, 70 * S, 700)
SENT_AGAIN = PacketLoss("10.0.0.21", "host", 12, 12, 12, 2, 200, 300, 0, 25 * S, 250, 40 * S, 395, 40 * S)
SLOW = SlowProcess(40, 60, 2000, (), 20 * S, 205, 40 * S, 395)


def server(events: Iterable[ServerEvent]) -> ServerRecord:
    record = ServerRecord((0, 90 * S))
    record.take(1, "c0", HOST)
    for number, event in enumerate(events, 2):
        record.take(number, "c0", event)
    return record


def test_delays_of_both_directions_at_one_time_are_one() -> None:
    first, second = delayed_stretches(server([LATER, FROM_SERVER, FROM_HOST]))
    assert (first.begin.ts_ns, first.end and first.end.ts_ns, first.late_ms) == (20 * S, 41 * S, 900)
    assert first.layers == {"packet", "delivery"}
    assert (second.begin.ts_ns, second.late_ms, second.layers) == (60 * S, 600, {"packet"})


def test_the_state_says_how_late_whose_packets_were_acknowledged() -> None:
    states = list(states_of(server([FROM_HOST])))
    assert [state.state for state in states] == ["serving", "delayed", "serving"]
    assert (states[1].late_ms, states[1].unacknowledged) == (740, "host")
    assert (states[1].from_ns, states[1].to_ns, states[1].shown_to_ns) == (20 * S, 41 * S, 41 * S - 740_000_000)
    assert states[1].before_ns < 20 * S


def test_what_is_sent_again_meanwhile_is_not_lost_nor_is_the_process_slow() -> None:
    for event, state in ((SENT_AGAIN, "lossy"), (SLOW, "slow")):
        assert [each.state for each in states_of(server([event]))] == ["serving", state, "serving"]
    explained = [state.state for state in states_of(server([FROM_HOST, SENT_AGAIN, SLOW]))]
    assert explained == ["serving", "delayed", "serving"]


def test_slices_of_time_show_when_it_began_only_to_a_slice() -> None:
    (stretch,) = delayed_stretches(server([replace(FROM_HOST, n_late=300, middle_ms=150, slice_ms=2_000)]))
    assert stretch.lead_ns == stretch.lag_ns == 2 * S
