"""The events of one group in the order in which they happened on the network.

Rows come sorted by the time of a request's first byte; its response comes later. A heap of what is in flight holds the
responses back. At one instant responses come before requests: a client acts on what it has received.
"""

import enum
import heapq
from collections.abc import Iterator
from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity


class Phase(enum.IntEnum):
    """What happened, in the order in which things of one instant are processed."""

    RESPONSE = 0
    REQUEST = 1
    ACTIVITY = 2


class Event(NamedTuple):
    """Something at a time; number makes the order total."""

    ts_ns: int
    phase: Phase
    number: int
    subject: GroupRequest | MemberActivity


class EventOrder:
    """Takes requests and activities in order of their first byte, gives events in order of their time."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._number = 0

    def add(self, subject: GroupRequest | MemberActivity) -> Iterator[Event]:
        """Adds what was sent next. Gives what happened before it."""
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
        """What is left at the end."""
        while self._heap:
            yield heapq.heappop(self._heap)
