"""Times in which a client did not read: the receive window of one or more of its connections was closed, so its process
took no data from its kernel, while the kernel went on."""

from collections.abc import Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.tables.event_kinds.connections import ClosedWindow
from kafkascope_spark.stories.clients.identity.instances import Instance


@dataclass(frozen=True, slots=True)
class Unread:
    """A time in which a client did not read.

    from_ns: its last payload before, on one of these connections; closed_ns: when the first window was closed;
    shown_ns: last segment that shows a closed window; to_ns: when the last window was opened again, None if one was
    not.
    """

    from_ns: int
    closed_ns: int
    shown_ns: int
    to_ns: int | None
    n_connections: int
    packets: tuple[int, ...]


def unread_times(instance: Instance) -> Iterator[Unread]:
    """Yields the times in which the client did not read, in order. Closed windows that overlap are one time."""
    windows = sorted((w for c in instance.connections for w in c.closed_windows), key=lambda w: (w.first_ns, w.conn_id))
    together: list[ClosedWindow] = []
    for window in windows:
        if together and window.first_ns > max(map(_until_ns, together)):
            yield _unread(together)
            together = []
        together.append(window)
    if together:
        yield _unread(together)


def _until_ns(window: ClosedWindow) -> int:
    return FOREVER if window.last_ns is None else window.last_ns


def _unread(windows: list[ClosedWindow]) -> Unread:
    opened = [w.last_ns for w in windows if w.last_ns is not None]
    closed_ns = windows[0].first_ns
    sent = [w.sent_ns for w in windows if w.sent_ns is not None and w.sent_ns <= closed_ns]
    return Unread(
        from_ns=max(sent, default=closed_ns),
        closed_ns=closed_ns,
        shown_ns=max(w.shown_ns for w in windows),
        to_ns=max(opened) if len(opened) == len(windows) else None,
        n_connections=len({w.conn_id for w in windows}),
        packets=tuple(sorted({n for w in windows for n in (w.first_packet_no, w.last_packet_no) if n})),
    )
