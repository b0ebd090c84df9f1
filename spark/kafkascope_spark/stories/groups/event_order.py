"""`EventOrder`: the events of one group in the order in which they happened on the network.

Rows come sorted by the time of a request's first byte; its response comes later. A heap holds back the responses of
requests in flight. At the same time responses come before requests, because a client acts on responses.
"""

import enum
import heapq
from collections.abc import Iterator
from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity


class Phase(enum.IntEnum):
    """Kind of event, in the order in which events of the same time are processed."""

    RESPONSE = 0
    REQUEST = 1
    ACTIVITY = 2


class Event(NamedTuple):
    """An event with its sort key; number makes the order total."""

    ts_ns: int
    phase: Phase
    number: int
    subject: GroupRequest | MemberActivity


class EventOrder:
    """Takes requests and activities in order of their first byte and returns events in order of time."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._number = 0

    def add(self, subject: GroupRequest | MemberActivity) -> Iterator[Event]:
        """Adds the next request or activity. Yields the events before it."""
        while self._heap and self._heap[0].ts_ns < subject.ts_ns:
            yield heapq.heappop(self._heap)
        if isinstance(subject, MemberActivity):
            self._push(subject.ts_ns, Phase.ACTIVITY, subject)
            return
        self._push(subject.ts_ns, Phase.REQUEST, subject)
        if subject.response_ns is not None:
            self._push(subject.response_ns, Phase.RESPONSE, subject)

    def _push(self, ts_ns: int, phase: Phase, subject: GroupRequest | MemberActivity) -> None:
        self._number += 1
        heapq.heappush(self._heap, Event(ts_ns, phase, self._number, subject))

    def rest(self) -> Iterator[Event]:
        """Yields the remaining events at the end."""
        while self._heap:
            yield heapq.heappop(self._heap)
