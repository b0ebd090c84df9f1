"""The state machines over groups: events in, rows of `rebalances` out.

`feed(rows)` takes events of groups in the order of EVENT_ORDER (and asserts it), any number at a time; `finish()` gives
what is left. Memory is that of one group: two of its generations, and what is in flight.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kafkascope_analyzer.dataset.tables.events import RANKS
from kafkascope_analyzer.dataset.tables.group_events import GROUP_SECTIONS
from kafkascope_spark.groups import classic, epoch_based
from kafkascope_spark.groups.event_order import Event, EventOrder
from kafkascope_spark.groups.generation_lag import GenerationLag
from kafkascope_spark.groups.model import Row, group_request, member_activity
from kafkascope_spark.groups.protocol import GroupMachine, Protocol

PROTOCOLS: tuple[Protocol, ...] = (*classic.PROTOCOLS, *epoch_based.PROTOCOLS)
"""All group protocols. Another one is a module with a machine, and its protocols here."""
_PROTOCOL_OF_API = {api: protocol for protocol in PROTOCOLS for api in protocol.apis}


class GroupStories:
    """Follows groups one after the other. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._capture_ns = capture_ns
        self._group: Group | None = None
        self._last: tuple[Any, ...] = ()

    def feed(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows of the generations that the events end. An event has key, ts_ns, packet_no, conn_id, seq, kind,
        client_instance_id and the struct of its kind. Raises ValueError when they are out of order."""
        for row in rows:
            kind = row["kind"]
            moment = (row["key"], GROUP_SECTIONS[kind], row["ts_ns"], RANKS[kind])
            place = (*moment, row["packet_no"], row["conn_id"], row["seq"])
            if place < self._last:
                raise ValueError(f"events of groups out of order: {place} after {self._last}")
            self._last = place
            if self._group is None or self._group.group_id != row["key"]:
                yield from self.finish()
                self._group = Group(row["key"], self._capture_ns[1])
            yield from self._group.take(row)

    def finish(self) -> Iterator[Row]:
        """Rows of the last group."""
        if self._group is not None:
            yield from self._group.finish()
            self._group = None


class Group:
    """One group: a machine for each protocol that its members speak (one, except while they are upgraded)."""

    def __init__(self, group_id: str, capture_end_ns: int) -> None:
        self.group_id = group_id
        self._end_ns = capture_end_ns
        self._machines: dict[str, GroupMachine[Any, Any]] = {}
        self._order = EventOrder()
        self._lag = GenerationLag()

    def take(self, row: Row) -> Iterator[Row]:
        """Rows of the generations that the next event ends."""
        if row["kind"] == "group_lag":
            self._lag.add(row["group_lag"])
            return
        subject = group_request(row) if row["kind"] == "group_request" else member_activity(row)
        for event in self._order.add(subject):
            yield from self._follow(event)

    def finish(self) -> Iterator[Row]:
        """What is left of it."""
        for event in self._order.rest():
            yield from self._follow(event)
        for machine in self._machines.values():
            yield from self._with_lag(machine.finish())

    def _follow(self, event: Event) -> Iterator[Row]:
        protocol = _PROTOCOL_OF_API.get(event.subject.api_key)
        if protocol is not None and protocol.name not in self._machines:
            self._machines[protocol.name] = protocol.machine(self.group_id, protocol, self._end_ns)
        # Commits and lookups of the coordinator are the same for all protocols.
        machines = self._machines.values() if protocol is None else [self._machines[protocol.name]]
        for machine in machines:
            yield from self._with_lag(machine.take(event))

    def _with_lag(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            yield row | self._lag.columns(row["generation"])
