"""The state machines over groups: rows of events in, rows of `rebalances` out.

`feed(batch)` takes rows sorted as events.group_events sorts them (and asserts that), any number at a time; `finish()`
gives what is left. Memory is that of one group: two of its generations, and what is in flight.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kafkascope_spark import wire
from kafkascope_spark.rebalances.classic import ClassicGroup
from kafkascope_spark.rebalances.epochs import EpochGroup
from kafkascope_spark.rebalances.order import Event, InOrder
from kafkascope_spark.rebalances.wire import BEATS, Row, exchange_of, heard_of

CLASSIC_ONLY = (wire.JOIN_GROUP, wire.SYNC_GROUP, wire.HEARTBEAT, wire.LEAVE_GROUP)


class GroupStories:
    """capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._capture_ns = capture_ns
        self._group: Group | None = None
        self._last: tuple[Any, ...] = ()

    def feed(self, batch: Iterable[Row]) -> Iterator[Row]:
        """Rows of the generations that the batch ends. Raises ValueError when its rows are out of order."""
        for row in batch:
            key = (row["group_id"], row["ts_ns"], row["packet_no"], row["tie"])
            if key < self._last:
                raise ValueError(f"events of groups out of order: {key} after {self._last}")
            self._last = key
            if self._group is None or self._group.group_id != row["group_id"]:
                yield from self.finish()
                self._group = Group(row["group_id"], self._capture_ns[1])
            yield from self._group.take(row)

    def finish(self) -> Iterator[Row]:
        """Rows of the last group."""
        if self._group is not None:
            yield from self._group.finish()
            self._group = None


class Group:
    """One group: a machine for each protocol that its members speak (one, but while they are upgraded)."""

    def __init__(self, group_id: str, capture_end_ns: int) -> None:
        self.group_id = group_id
        self._end_ns = capture_end_ns
        self._machines: dict[str, ClassicGroup | EpochGroup] = {}
        self._order = InOrder()

    def take(self, row: Row) -> Iterator[Row]:
        """The next row."""
        if row["heard"] is not None:
            events = self._order.heard(heard_of(row))
        else:
            given = exchange_of(row)
            if row["given"]:
                given.told["given"] = row["given"]
            events = self._order.exchange(given)
        for event in events:
            yield from self._follow(event)

    def _follow(self, event: Event) -> Iterator[Row]:
        api = event.what.api_key
        protocol = BEATS.get(api)
        if protocol is not None or api in CLASSIC_ONLY:
            yield from self._machine(protocol or "classic").take(event)
            return
        for machine in self._machines.values():
            yield from machine.take(event)

    def _machine(self, protocol: str) -> "ClassicGroup | EpochGroup":
        if protocol not in self._machines:
            new = ClassicGroup(self.group_id, self._end_ns) if protocol == "classic" else None
            self._machines[protocol] = new or EpochGroup(self.group_id, protocol, self._end_ns)
        return self._machines[protocol]

    def finish(self) -> Iterator[Row]:
        """What is left of it."""
        for event in self._order.rest():
            yield from self._follow(event)
        for machine in self._machines.values():
            yield from machine.finish()
