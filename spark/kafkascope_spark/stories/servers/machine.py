"""The state machine over servers: events of one server in, rows of `broker_states` out.

down       its connections ended within moments, new ones are refused, and nobody is served (down)
silent     no packet comes while the host waits for one (silent)
refusing   the host's connections are refused while others are served (refusing), or the process works (down)
lossy      packets come, several of them late because they had to be sent again (lossy)
frozen     packets come, and nothing of the process, while somebody waits for it (frozen)
slow       responses come, on several connections at once much later than usual (slow)
serving, unknown   the rest (rows)

Memory is that of one server's events, which are few: only those of times in which somebody waited for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafkascope_analyzer.dataset.stories.broker_states import BrokerState
from kafkascope_spark.stories.servers.parts import ServerParts

Row = dict[str, Any]
_ORDER = ("key", "section", "ts_ns", "rank", "packet_no", "conn_id", "seq")


class BrokerStates:
    """Follows servers one after the other. covered: begin and end of each time of the capture that its files cover: no
    state goes on from one to the next."""

    def __init__(self, covered: Sequence[tuple[int, int]]) -> None:
        self._covered = covered
        self._server: ServerParts | None = None
        self._last: tuple[Any, ...] = ()

    def feed(self, rows: Iterable[Row]) -> Iterator[BrokerState]:
        """States of the servers that the events complete. Rows are sorted (client_stage.SHARED_ORDER); ValueError when
        they are not."""
        for row in rows:
            place = tuple(row[name] for name in _ORDER)
            if place < self._last:
                raise ValueError(f"events of servers out of order: {place} after {self._last}")
            self._last = place
            if self._server is None or self._server.key != row["key"]:
                yield from self.finish()
                self._server = ServerParts(row["key"], self._covered)
            self._server.take(row)

    def finish(self) -> Iterator[BrokerState]:
        """States of the last server."""
        if self._server is not None:
            yield from self._server.states()
            self._server = None
