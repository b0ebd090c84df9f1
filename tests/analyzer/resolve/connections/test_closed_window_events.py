"""Closed windows of clients as events: only those of clients, and of the bucket's own connections."""

from tests.analyzer.resolve.by_hand import connections, context, events, no_messages, only, rows_of

from kafkascope_analyzer.resolve.connections.closed_window_events import ClosedWindowEvents
from kafkascope_analyzer.resolve.servers.closed_windows import NO_CLOSED_WINDOWS
from kafkascope_analyzer.resolve.servers.rows import ServerRows

ROWS = connections({"client_ip": "10.0.0.1"}, {"client_ip": "10.0.0.2"})
WINDOW = {"first_ns": 5, "first_packet": 6, "shown_ns": 8, "last_ns": 9, "last_packet": 10, "sent_ns": 4}


def found(*windows: dict[str, object]) -> list[dict[str, object]]:
    closed = rows_of(NO_CLOSED_WINDOWS.schema, (WINDOW | each for each in windows))
    source = ClosedWindowEvents(context(ROWS, servers=ServerRows(closed=closed)))
    return events(source.finish(ROWS, no_messages))


def test_the_window_of_a_client_is_an_event_of_its_connection() -> None:
    elsewhere = {"conn_id": "c7", "side": "client"}
    of_server = {"conn_id": "c0", "side": "server"}
    still_closed = {"conn_id": "c1", "side": "client", "last_ns": None, "last_packet": None, "sent_ns": None}
    rows = found(elsewhere, of_server, still_closed, {"conn_id": "c0", "side": "client"})
    names = ("key", "conn_id", "at_ns", "packet_no", "sent_ns", "shown_ns", "last_ns", "last_packet_no")
    assert only(rows, *names) == [
        ("10.0.0.2", "c1", 5, 6, None, 8, None, None),
        ("10.0.0.1", "c0", 5, 6, 4, 8, 9, 10),
    ]


def test_a_bucket_without_closed_windows_has_no_events() -> None:
    assert found() == []
    assert found({"conn_id": "c0", "side": "server"}) == []
