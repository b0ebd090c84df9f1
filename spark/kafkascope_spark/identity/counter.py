"""The correlation-id counter that a Java client keeps over all its connections, rebuilt from samples.

An id is taken when a request is built, which may be some seconds before it is sent (it waits for its connection, or
for as long as the path is silent in the socket's send buffer); ids never repeat. So a connection fits a counter when
none of its ids was seen on it, and each was sent when the counter had just passed it.
"""

import bisect
from collections.abc import Iterator

from kafkascope_spark.wire import Connection

WAIT_NS = 10_000_000_000
"""Longest that a request waits for its connection before it is sent: Java's socket.connection.setup.timeout.ms, 10
s."""
AHEAD_NS = 1_000_000_000
"""Distance of samples after the first ones: the counter between two of them is not known."""
FLUSH_NS = 10_000_000
"""Requests that follow one another in less came out of the send buffer together, and may have waited there since the
request before them: TCP sends nothing new until a lost segment is acknowledged (RFC 6298)."""
SLACK = 16
"""Ids that may be out of order for another reason: the client's queue of unsent requests."""


class SharedCounter:
    """Samples (time, id) of one counter."""

    def __init__(self) -> None:
        self.ids: set[int] = set()
        self.times: list[int] = []
        self.highest: list[int] = []

    def add(self, connection: Connection) -> None:
        """Take the connection's samples in."""
        self.ids.update(i for _, i in connection.ids)
        merged = sorted([*zip(self.times, self.highest, strict=True), *connection.ids])
        self.times, self.highest, top = [], [], -1
        for time, correlation_id in merged:
            top = max(top, correlation_id)
            self.times.append(time)
            self.highest.append(top)

    def distance(self, connection: Connection) -> int | None:
        """How far the connection's first id lies from the counter at that time; None when it cannot be of this
        counter."""
        if not connection.ids:
            return 0
        if any(i in self.ids for _, i in connection.ids):
            return None
        misses = sum(not self._possible(time, since, i) for time, since, i in _waits(connection.ids))
        if misses * 10 > len(connection.ids):
            return None
        time, first = connection.ids[0]
        return abs(first - self._at(time))

    def _possible(self, time: int, since: int, correlation_id: int) -> bool:
        low = self._at(min(since, time - WAIT_NS)) - SLACK
        after = bisect.bisect_left(self.times, time + AHEAD_NS)
        if after < len(self.times):
            # The next sample may be the oldest of those that waited together: the newest tells where the counter is.
            after = bisect.bisect_right(self.times, self.times[after] + FLUSH_NS, after) - 1
        high = self.highest[after] + SLACK if after < len(self.times) else None
        return low <= correlation_id and (high is None or correlation_id <= high)

    def _at(self, time: int) -> int:
        """The highest id sent until then; -1 before the first."""
        at = bisect.bisect_right(self.times, time) - 1
        return self.highest[at] if at >= 0 else -1


def _waits(ids: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Of each sample of a connection (time, id): when it was sent, since when it may have waited for that, its id."""
    before = since = None
    for time, correlation_id in ids:
        if before is not None and time - before > FLUSH_NS:
            since = before
        before = time
        yield time, time if since is None else since, correlation_id
