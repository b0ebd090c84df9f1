"""Connections that something on the way forgot, from events made by hand; real ones are in test_recorded.py."""

from dataclasses import replace

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.servers import LifeSign, PacketLoss, ServerConnection, ServerWait
from kafkascope_spark.stories.servers.dead_flow import dead_flow_stretches, with_forgotten
from kafkascope_spark.stories.servers.lossy import lossy_stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.mtu import mtu_stretches, with_lost_bytes
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch, without

S = 1_000_000_000
LOSS = PacketLoss("10.0.0.21", "host", 6, 1, 6, 1, 230, 230, 0, 10 * S, 100, 17 * S, 106, 13 * S)


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
    ("last_s", "until", "expected"),
    [
        (40, (55, "close"), ("flow_dead", 40, 40 + 30)),
        (40, (40, "ack"), ("flow_dead", 40, 40)),
        (25, (25, "ack"), ("silent", 18, 18)),
    ],
    ids=["in vain", "the one before the last was in vain", "only the last one came later"],
)
def test_what_is_sent_again_in_vain_after_a_silence_shows_that_its_connection_is_dead(
    last_s: int, until: tuple[int, str], expected: tuple[str, int, int]
) -> None:
    """The server is silent until a new connection works at 18 s. TCP sends again what it sent at 10 s, and doubles the
    time between its attempts: the one before that of 40 s came at 25 s, the one before that of 25 s at 17.5 s."""
    server = ServerRecord((0, 90 * S))
    for first, last in ((1, 9), (18, 60)):
        server.take(1, "c2", LifeSign("10.0.0.21", "host", "packet", first * S, 1, last * S, 2))
    asked, ended = (10 * S, 100, last_s * S, 107, 10 * S), (until[0] * S + 1000, 108, until[1])
    server.take(100, "c1", ServerWait("10.0.0.21", "packet", None, None, None, None, *asked, *ended))
    server.take(100, "c1", ServerWait("10.0.0.21", "request", "c1-1", False, False, False, *asked, *ended))
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 1, layers={"packet"})
    (found,) = with_forgotten(server, [silent])
    assert found.end is not None
    end_s = found.end.ts_ns // S
    assert (found.state, end_s, end_s + found.lag_ns // S) == expected


def test_connections_are_dead_until_the_last_of_them_is_acknowledged() -> None:
    """One is given up at 39 s; another one gets its first acknowledgment at 65 s."""
    server = ServerRecord((0, 90 * S))
    for first, last in ((1, 9), (18, 80)):
        server.take(1, "c3", LifeSign("10.0.0.21", "host", "packet", first * S, 1, last * S, 2))
    for conn, last_s, until in (("c1", 39, (None, None, "open")), ("c2", 65, (65 * S, 300, "ack"))):
        asked = (10 * S, 100, last_s * S, 299, 10 * S)
        server.take(100, conn, ServerWait("10.0.0.21", "packet", None, None, None, None, *asked, *until))
        server.take(100, conn, ServerWait("10.0.0.21", "request", f"{conn}-1", False, False, False, *asked, *until))
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 2, layers={"packet"})
    (found,) = with_forgotten(server, [silent])
    assert (found.state, found.end, found.last_shown_ns, found.lag_ns) == ("flow_dead", Moment(65 * S, 300), 39 * S, 0)


@pytest.mark.parametrize(("answer", "state", "end_s"), [("ack", "silent", 18), ("data", "flow_dead", 30)])
def test_the_second_probe_of_an_idle_connection_says_nothing_about_the_time_between_both(
    answer: str, state: str, end_s: int
) -> None:
    """Keep-alive probes come 15 s apart: that of 15 s fell into the silence, that of 30 s was acknowledged. What is
    answered with data was a request, which TCP sent several times in between."""
    server = ServerRecord((0, 90 * S))
    for first, last in ((1, 9), (18, 80)):
        server.take(1, "c3", LifeSign("10.0.0.21", "host", "packet", first * S, 1, last * S, 2))
    probes = (15 * S, 100, 30 * S, 299, 15 * S, 30 * S, 300, answer)
    server.take(100, "c1", ServerWait("10.0.0.21", "packet", None, None, None, None, *probes))
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 2, layers={"packet"})
    (found,) = with_forgotten(server, [silent])
    assert (found.state, found.end and found.end.ts_ns) == (state, end_s * S)


@pytest.mark.parametrize(("accepted_ns", "state"), [(2 * S, "silent"), (None, "flow_dead")])
def test_the_second_probe_may_be_refused_by_a_firewall(accepted_ns: int | None, state: str) -> None:
    """Recorded: a firewall drops packets at 15 s, lets them pass from 18 s on, and sends RST from 29 s on. Attempts to
    connect, the last of which is refused, are no probes: more of them came in between."""
    server = ServerRecord((0, 90 * S))
    for first, last in ((1, 9), (18, 80)):
        server.take(1, "c3", LifeSign("10.0.0.21", "host", "packet", first * S, 1, last * S, 2))
    probes = (15 * S, 100, 30 * S, 299, 15 * S, 30 * S, 300, "rst")
    server.take(100, "c1", ServerWait("10.0.0.21", "packet", None, None, None, None, *probes))
    ended = (1 * S, 10, 30 * S, 300)
    server.take(300, "c1", ServerConnection("10.0.0.21", "rst_server", True, 28_000, accepted_ns, 11, *ended))
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 2, layers={"packet"})
    assert [each.state for each in with_forgotten(server, [silent])] == [state]


def test_other_states_explain_more() -> None:
    silent = Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 1)
    assert not dead_flow_stretches(record(LOSS, others=(1, 30)), [silent])


def waited(ended_by: str, idle_since: int = 20) -> ServerRecord:
    """Something that was sent at 100 s on a connection, and again until 125 s; packets of the server came until
    idle_since, and again from 130 s on. ended_by: what ended the wait at 130 s."""
    server = ServerRecord((0, 200 * S))
    server.take(1, "c1", LifeSign("10.0.0.21", "host", "packet", 1 * S, 1, idle_since * S, 2))
    asked = (100 * S, 100, 125 * S, 107, 100 * S)
    server.take(100, "c1", ServerWait("10.0.0.21", "packet", None, None, None, None, *asked, 130 * S, 108, ended_by))
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
    assert not list(without([silent], [found]))


@pytest.mark.parametrize(
    "changed", [{"arrived_bytes": 0}, {"arrived_bytes": 2_000}, {"least_bytes": 230}, {"n_segments": 5}]
)
def test_where_short_ones_are_lost_too_or_long_ones_arrive_it_does(changed: dict[str, int]) -> None:
    assert not mtu_stretches(record(replace(LONG, **changed), others=None))


def test_a_window_of_long_segments_that_are_each_sent_again_once_is_lost_for_the_same_reason() -> None:
    """Recorded: packets above 1300 bytes were dropped in both directions. The client sent one segment again 8 times;
    of the broker's window, 12 segments followed once the first had arrived."""
    server = record(LONG, others=None)
    window = replace(LONG, sender="server", n_lost=24, n_segments=13, n_bursts=12, last_ns=18 * S, last_packet_no=110)
    server.take(101, "c2", window)
    assert [stretch.end for stretch in mtu_stretches(server)] == [Moment(17 * S, 106), Moment(18 * S, 110)]
    assert not lossy_stretches(server, mtu_stretches(server))
    alone = record(window, others=None)
    assert not mtu_stretches(alone)
    assert lossy_stretches(alone, ())


def test_long_packets_arrive_again_when_what_was_sent_last_is_acknowledged() -> None:
    (unknown,) = mtu_stretches(record(LONG, others=None))
    assert unknown.lag_ns == 7 * S
    server = record(LONG, others=None)
    acked = ServerWait(
        "10.0.0.21", "packet", None, False, False, False, 10 * S, 100, 17 * S, 106, 10 * S, 17 * S + 1_000, 107, "ack"
    )
    server.take(100, "c1", acked)
    (known,) = mtu_stretches(server)
    assert known.lag_ns == 0


@pytest.mark.parametrize(
    ("loss", "waiting", "expected"),
    [
        (LONG, ("c1",), (1_448, 12 * S)),
        (replace(LONG, least_bytes=90), ("c1",), (None, 0)),
        (LONG, ("c1", "c2"), (None, 0)),
    ],
    ids=["only long ones", "short ones too", "another connection waits for something of unknown length"],
)
def test_where_a_silence_is_known_of_long_packets_alone_they_may_be_lost_until_they_are_acknowledged(
    loss: PacketLoss, waiting: tuple[str, ...], expected: tuple[int | None, int]
) -> None:
    """The silence ends at 18 s with a keep-alive; what was lost is acknowledged at 30 s."""
    server = record(loss, others=None)
    for conn in waiting:
        ended = (10 * S, 100, 30 * S, 130, 10 * S, 30 * S, 131, "ack")
        server.take(100, conn, ServerWait("10.0.0.21", "packet", None, None, None, None, *ended))
    found = with_lost_bytes(server, Stretch("10.0.0.21", "silent", Moment(9 * S, 90), Moment(18 * S, 120), True, 1))
    assert (found.lost_bytes, found.lag_ns) == expected
