"""The correlation-id counter that a Java client keeps for all its connections, reconstructed from samples.

An id is assigned when a request is built, which may be some seconds before it is sent: the request waits for its
connection, or in the socket's send buffer while the network is silent. Ids never repeat. A connection therefore fits a
counter when none of its ids has been used in it, and each id was sent when the counter had just passed it.
"""

import bisect
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

from kafkascope_spark.stories.model import Connection

WAIT_NS = 10_000_000_000
"""Longest time that a request waits for its connection before it is sent: Java's socket.connection.setup.timeout.ms, 10
s."""
AHEAD_NS = 1_000_000_000
"""Distance of the samples after the first ones: the counter is unknown between two samples."""
FLUSH_NS = 10_000_000
"""Requests that follow one another in less time left the send buffer together, and may have waited there since the
request before them: TCP sends nothing new until a lost segment is acknowledged (RFC 6298)."""
SLACK = 16
"""Number of ids that may be out of order because of the client's queue of unsent requests."""


class Samples:
    """Samples (time, id) in order of time, each with the highest id until then."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.highest: list[int] = []

    def add(self, samples: Iterable[tuple[int, int]]) -> None:
        """Adds samples in any order."""
        merged = sorted([*zip(self.times, self.highest, strict=True), *samples])
        self.times = [time for time, _ in merged]
        self.highest = list(accumulate((correlation_id for _, correlation_id in merged), max, initial=-1))[1:]

    def at(self, time: int) -> int:
        """The highest id until then; -1 before the first."""
        at = bisect.bisect_right(self.times, time) - 1
        return self.highest[at] if at >= 0 else -1

    def after(self, time: int) -> int | None:
        """The highest id of the next sample; None after the last."""
        at = bisect.bisect_left(self.times, time)
        return self.highest[at] if at < len(self.times) else None


class SharedCounter:
    """One counter, from the samples of all its connections."""

    def __init__(self) -> None:
        self.ids: set[int] = set()
        self.sent = Samples()
        """By the time at which the request was sent: the counter had passed its id by then."""
        self.built = Samples()
        """By the earliest time at which it may have been built: the counter did not pass its id before."""

    def add(self, connection: Connection) -> None:
        """Adds the samples of the connection."""
        self.ids.update(i for _, i in connection.ids)
        self.sent.add(connection.ids)
        self.built.add(_built(connection))

    def distance(self, connection: Connection) -> int | None:
        """The distance of the connection's first id from the counter at that time; None when the connection cannot
        belong to this counter."""
        if not connection.ids:
            return 0
        if not self.ids.isdisjoint(i for _, i in connection.ids):
            return None
        misses = sum(not self._possible(time, since, i) for time, since, i in _waits(connection.ids))
        if misses * 10 > len(connection.ids):
            return None
        time, first = connection.ids[0]
        return abs(first - self.sent.at(time))

    def _possible(self, time: int, since: int, correlation_id: int) -> bool:
        low = self.sent.at(min(since, time - WAIT_NS)) - SLACK
        high = self.built.after(time + AHEAD_NS)
        return low <= correlation_id and (high is None or correlation_id <= high + SLACK)


def _built(connection: Connection) -> Iterator[tuple[int, int]]:
    """(earliest time at which it may have been built, id) of each sample of a connection: requests that left the send
    buffer together may have waited there since the request before them, and so may those that it still held when the
    process had closed the connection."""
    ids = connection.ids
    times = [time for time, _ in ids]
    left = connection.left_in_buffer
    flushed = [left is not None and time >= left[1] for time in times]
    for place, (before, after) in enumerate(pairwise(times)):
        if abs(after - before) <= FLUSH_NS:
            flushed[place] = flushed[place + 1] = True
    for is_flushed, (time, since, correlation_id) in zip(flushed, _waits(ids), strict=True):
        yield (since if is_flushed else time), correlation_id


def _waits(ids: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """(time sent, earliest time from which it may have waited, id) of each sample of a connection."""
    before = since = None
    for time, correlation_id in ids:
        if before is not None and time - before > FLUSH_NS:
            since = before
        before = time
        yield time, time if since is None else since, correlation_id
