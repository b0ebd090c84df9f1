"""The events of one group in the order in which they happened on the wire.

Rows come sorted by the time of a request's first byte; its answer comes later. A heap of what is in flight holds the
answers back. At one instant answers are told before requests: a client acts on what it was told.
"""

import enum
import heapq
from collections.abc import Iterator
from typing import NamedTuple

from kafkascope_spark.rebalances.wire import Exchange, Heard


class Kind(enum.IntEnum):
    """What happened, in the order in which things of one instant are told."""

    ANSWER = 0
    REQUEST = 1
    HEARD = 2


class Event(NamedTuple):
    """Something at a time; number makes the order total."""

    ts_ns: int
    kind: Kind
    number: int
    what: Exchange | Heard


class InOrder:
    """Takes rows in order of their first byte, gives events in order of their time."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._number = 0

    def exchange(self, exchange: Exchange) -> Iterator[Event]:
        """A request was sent: what happened before it."""
        yield from self._until(exchange.ts_ns)
        self._push(exchange.ts_ns, Kind.REQUEST, exchange)
        if exchange.response_ns is not None:
            self._push(exchange.response_ns, Kind.ANSWER, exchange)

    def heard(self, heard: Heard) -> Iterator[Event]:
        """A member was heard of: what happened before it."""
        yield from self._until(heard.first_ns)
        self._push(heard.first_ns, Kind.HEARD, heard)

    def _push(self, ts_ns: int, kind: Kind, what: Exchange | Heard) -> None:
        self._number += 1
        heapq.heappush(self._heap, Event(ts_ns, kind, self._number, what))

    def _until(self, ts_ns: int) -> Iterator[Event]:
        while self._heap and self._heap[0].ts_ns < ts_ns:
            yield heapq.heappop(self._heap)

    def rest(self) -> Iterator[Event]:
        """What is left at the end."""
        while self._heap:
            yield heapq.heappop(self._heap)
