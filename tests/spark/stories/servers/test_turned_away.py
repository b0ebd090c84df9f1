"""Connections that a server accepts and closes at once, and hosts that are silent to everybody, from events made by
hand."""

from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import HostSilence, ServerConnection, ServerHost
from kafkascope_spark.stories.servers.host_silent import host_silent_stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch
from kafkascope_spark.stories.servers.turned_away import turned_away_stretches

S = 1_000_000_000
HOST = ServerHost("10.0.0.1", 9092, 1, "10.0.0.21", "client", True, False, S, 60 * S)
AWAY = ServerConnection("10.0.0.21", "rst_server", False, None, 10 * S, 101, 10 * S, 100, 10 * S + 1_000_000, 104)
SERVED = ServerConnection("10.0.0.21", "accepted", True, None, 20 * S, 201, 20 * S, 200, 20 * S, 201)


def at(seconds: float, connection: ServerConnection = AWAY) -> ServerConnection:
    """The connection that much later than it is."""
    later = int(seconds * S)
    times = ("accepted_ns", "first_ns", "last_ns")
    return replace(connection, **{name: getattr(connection, name) + later for name in times})


def server(*connections: ServerConnection) -> ServerRecord:
    record = ServerRecord((0, 60 * S))
    record.take(1, "c0", HOST)
    for connection in connections:
        record.take(100, "c1", connection)
    return record


def test_connections_that_are_closed_at_once_until_one_is_served() -> None:
    (found,) = turned_away_stretches(server(AWAY, at(1), at(2.5), at(4), SERVED), [])
    assert (found.host, found.state, found.n_waiting) == ("10.0.0.21", "turned_away", 4)
    assert (found.begin, found.end) == (Moment(10 * S + 1_000_000, 104), Moment(20 * S, 201))
    assert found.begin.ts_ns - found.lead_ns == S


def test_two_are_an_accident_and_those_that_were_served_or_open_for_long_are_none() -> None:
    assert not turned_away_stretches(server(AWAY, at(1), SERVED), [])
    assert not turned_away_stretches(server(*(replace(at(n), served=True) for n in range(4))), [])
    slow = replace(AWAY, last_ns=AWAY.last_ns + 5 * S)
    assert not turned_away_stretches(server(*(at(n, slow) for n in range(4))), [])


def test_a_server_that_has_read_a_request_ends_the_connection_because_of_that() -> None:
    """Linux sends a RST where a process closes a connection without having read what came (RFC 2525, section 2.17)."""
    read = replace(AWAY, close_kind="fin_server", idle_ms=1)
    assert not turned_away_stretches(server(*(at(n, read) for n in range(4))), [])
    nothing_sent = replace(AWAY, close_kind="fin_server", idle_ms=None)
    assert turned_away_stretches(server(*(at(n, nothing_sent) for n in range(4))), [])
    unread = replace(AWAY, close_kind="rst_server", idle_ms=1)
    assert turned_away_stretches(server(*(at(n, unread) for n in range(4))), [])


def test_a_server_that_is_down_closes_what_it_had_accepted() -> None:
    down = Stretch("10.0.0.21", "down", Moment(9 * S, 90), Moment(18 * S, 120), True, 1)
    assert not turned_away_stretches(server(AWAY, at(1), at(2)), [down])


def test_a_host_that_is_silent_to_everybody_is_so_from_its_last_packet_to_its_next() -> None:
    record = server()
    record.take(50, "c1", HostSilence("10.0.0.21", 2, 8 * S, 50, 9 * S, 60, 20 * S, 90, 24 * S, 99))
    record.take(50, "c1", HostSilence("10.0.0.22", 1, 30 * S, 150, 31 * S, 160, 50 * S, 190, None, None))
    first, second = host_silent_stretches(record)
    assert (first.begin, first.end, first.n_waiting) == (Moment(8 * S, 50), Moment(24 * S, 99), 2)
    assert (second.host, second.end) == ("10.0.0.22", None)
