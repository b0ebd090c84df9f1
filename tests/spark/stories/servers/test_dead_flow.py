"""Connections that something on the way forgot, from events made by hand; real ones are in test_recorded.py."""

from dataclasses import replace

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.servers import LifeSign, PacketLoss, ServerWait
from kafkascope_spark.stories.servers.dead_flow import dead_flow_stretches, with_forgotten
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.mtu import mtu_stretches, without_mtu
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch

S = 1_000_000_000
LOSS = PacketLoss("10.0.0.21", "host", 6, 1, 6, 1, 230, 230, 0, 10 * S, 100, 17 * S, 106)


def record(loss: PacketLoss, *, others: tuple[int, int] | None) -> ServerRecord:
    """A server one of whose connections lost packets; others: when it sent packets to the host on other ones."""
    server = ServerRecord((0, 60 * S))
    server.take(100, "c1", loss)
    if others is not None:
        first, last = others
        server.take(1, "c2", LifeSign("10.0.0.21", "host", "packet", first * S, 1, last * S, 2))
    return server


def test_a_connection_is_dead_where_another_of_the_two_hosts_works() -> None:
    (dead,) = dead_flow_stretches(record(LOSS, others=(1, 30)), [])
    assert (dead.host, dead.state, dead.n_waiting) == ("10.0.0.21", "flow_dead", 1)
    assert (dead.begin, dead.end) == (Moment(10 * S, 100), Moment(17 * S, 106))


@pytest.mark.parametrize("others", [None, (1, 9), (20, 30)])
def test_where_nothing_else_comes_the_path_may_be_cut(others: tuple[int, int] | None) -> None:
    assert not dead_flow_stretches(record(LOSS, others=others), [])


def test_segments_that_arrive_when_they_are_sent_again_are_lost_and_no_dead_connection() -> None:
    assert not dead_flow_stretches(record(replace(LOSS, n_segments=5), others=(1, 30)), [])


@pytest.mark.parametrize(
    ("last_s", "state", "end_s"), [(40, "flow_dead", 40), (24, "silent", 18)], ids=["in vain", "the last one arrived"]
)
def test_what_is_sent_again_in_vain_after_a_silence_shows_that_its_connection_is_dead(
    last_s: int, state: str, end_s: int
) -> None:
    """The server is silent until a new connection works. TCP sends again what it sent before, 28 or 12 s later."""
    server = record(replace(LOSS, last_ns=last_s * S), others=(18, 60))
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 1, layers={"packet"})
    (found,) = with_forgotten(server, [silent])
    assert (found.state, found.begin, found.end and found.end.ts_ns) == (state, Moment(9 * S, 90), end_s * S)
    assert not dead_flow_stretches(server, [found])


def test_other_states_explain_more() -> None:
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 1)
    assert not dead_flow_stretches(record(LOSS, others=(1, 30)), [silent])


def waited(ended_by: str, idle_since: int = 20) -> ServerRecord:
    """Something that was sent at 100 s on a connection, and again until 125 s; packets of the server came until
    idle_since, and again from 130 s on. ended_by: what ended the wait at 130 s."""
    server = ServerRecord((0, 200 * S))
    server.take(1, "c1", LifeSign("10.0.0.21", "host", "packet", 1 * S, 1, idle_since * S, 2))
    asked = (100 * S, 100, 125 * S, 107, 100 * S)
    server.take(100, "c1", ServerWait("10.0.0.21", "packet", None, None, None, *asked, 130 * S, 108, ended_by))
    server.take(108, "c2", LifeSign("10.0.0.21", "host", "packet", 130 * S, 108, 160 * S, 120))
    return server


SILENT = Stretch("10.0.0.21", "silent", Moment(100 * S, 100), Moment(130 * S, 108), True, 1)


def test_an_idle_connection_that_is_never_acknowledged_again_was_forgotten_where_the_next_one_works() -> None:
    assert [each.state for each in with_forgotten(waited("close"), [SILENT])] == ["flow_dead"]


@pytest.mark.parametrize(
    ("server", "others"),
    [
        (waited("ack"), ()),
        (waited("close", idle_since=99), ()),
        (waited("close"), (replace(SILENT, host="10.0.0.22"),)),
    ],
    ids=["it is acknowledged at last", "it was not idle", "the server is silent to another host"],
)
def test_a_silence_that_is_not_of_one_idle_connection_alone_is_one(
    server: ServerRecord, others: tuple[Stretch, ...]
) -> None:
    assert {each.state for each in with_forgotten(server, [SILENT, *others])} == {"silent"}


def test_a_host_that_also_tried_another_connection_met_a_silent_server() -> None:
    assert [each.state for each in with_forgotten(waited("close"), [replace(SILENT, n_waiting=2)])] == ["silent"]


LONG = replace(LOSS, n_lost=9, n_segments=2, least_bytes=1_448, most_bytes=1_448, arrived_bytes=512)


def test_where_only_long_packets_are_lost_a_link_takes_none_of_their_length() -> None:
    (found,) = mtu_stretches(record(LONG, others=None))
    assert (found.state, found.begin, found.end) == ("mtu", Moment(10 * S, 100), Moment(17 * S, 106))
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(12 * S, 120), True, 1)
    assert not list(without_mtu([silent], [found]))


@pytest.mark.parametrize(
    "changed", [{"arrived_bytes": 0}, {"arrived_bytes": 2_000}, {"least_bytes": 230}, {"n_segments": 5}]
)
def test_where_short_ones_are_lost_too_or_long_ones_arrive_it_does(changed: dict[str, int]) -> None:
    assert not mtu_stretches(record(replace(LONG, **changed), others=None))


def test_long_packets_arrive_again_when_what_was_sent_last_is_acknowledged() -> None:
    (unknown,) = mtu_stretches(record(LONG, others=None))
    assert unknown.lag_ns == 7 * S
    server = record(LONG, others=None)
    acked = ServerWait(
        "10.0.0.21", "packet", None, False, False, 10 * S, 100, 17 * S, 106, 10 * S, 17 * S + 1_000, 107, "ack"
    )
    server.take(100, "c1", acked)
    (known,) = mtu_stretches(server)
    assert known.lag_ns == 0
