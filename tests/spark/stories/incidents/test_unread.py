"""Times in which a client's receive windows were closed (RFC 9293: a window of 0 stops the sender)."""

from collections.abc import Callable
from typing import Any

from kafkascope_analyzer.dataset.tables.event_kinds.connections import ClosedWindow
from kafkascope_spark.stories.incidents.signals.unread import unread_times
from kafkascope_spark.stories.model import Connection

from .conftest import NS, row_of


def closed(conn_id: str, at: float, opened: float | None, sent: float | None = None) -> ClosedWindow:
    """A window that is closed at a second, and last seen closed half a second before it is opened."""
    ns = {"first_ns": int(at * NS), "last_ns": None if opened is None else int(opened * NS)}
    ns |= {"sent_ns": None if sent is None else int(sent * NS), "shown_ns": int(((opened or 50) - 0.5) * NS)}
    numbers = {"first_packet_no": int(at * 10), "last_packet_no": None if opened is None else int(opened * 10)}
    window = row_of(ClosedWindow, **ns, **numbers)
    window.conn_id = conn_id
    return window


def times(connection: Callable[..., Connection], instance: Any, *windows: ClosedWindow) -> list[Any]:
    by_conn: dict[str, list[ClosedWindow]] = {}
    for window in windows:
        by_conn.setdefault(window.conn_id, []).append(window)
    own = [connection(conn_id, 0, None, closed_windows=found) for conn_id, found in by_conn.items()]
    return list(unread_times(instance(*own or [connection("c1")])))


def test_windows_that_overlap_are_one_time(connection: Any, instance: Any) -> None:
    """Its last payload before was sent at 9 s; both windows are open at 22 s."""
    (found,) = times(connection, instance, closed("c2", 12, 22, 9), closed("c1", 10, 20, 8))
    assert (found.from_ns, found.closed_ns, found.to_ns) == (9 * NS, 10 * NS, 22 * NS)
    assert (found.shown_ns, found.n_connections, found.packets) == (int(21.5 * NS), 2, (100, 120, 200, 220))


def test_windows_that_do_not_overlap_are_two(connection: Any, instance: Any) -> None:
    first, second = times(connection, instance, closed("c1", 10, 20), closed("c1", 21, 30))
    assert (first.to_ns, second.closed_ns, second.from_ns) == (20 * NS, 21 * NS, 21 * NS)


def test_a_window_that_stays_closed_has_no_end(connection: Any, instance: Any) -> None:
    """Whatever follows belongs to it: the process still does not read."""
    (found,) = times(connection, instance, closed("c1", 10, None), closed("c2", 30, 31))
    assert (found.to_ns, found.n_connections) == (None, 2)


def test_what_the_client_sent_afterwards_was_not_its_last_payload_before(connection: Any, instance: Any) -> None:
    (found,) = times(connection, instance, closed("c1", 10, 20, 15))
    assert found.from_ns == 10 * NS


def test_a_client_that_reads_has_none(connection: Any, instance: Any) -> None:
    assert times(connection, instance) == []
