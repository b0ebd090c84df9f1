"""The state machine over servers: events of one server in, rows of `broker_states` out."""

from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]


class BrokerStates:
    """Follows servers one after the other. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._capture_ns = capture_ns

    def feed(self, rows: Iterable[Row]) -> Iterator[Row]:
        """States of the servers that the events complete. Rows are sorted (client_stage.SHARED_ORDER)."""
        yield from ()

    def finish(self) -> Iterator[Row]:
        """States of the last server."""
        yield from ()
