"""The state machine over services: events of one client or group at one topic-partition in, rows of `stalls` out."""

from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]


class Stalls:
    """Follows services one after the other. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._capture_ns = capture_ns

    def feed(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Stalls that the events end, without incident_id. Rows are sorted (client_stage.SHARED_ORDER)."""
        yield from ()

    def finish(self) -> Iterator[Row]:
        """Stalls of the last service."""
        yield from ()
