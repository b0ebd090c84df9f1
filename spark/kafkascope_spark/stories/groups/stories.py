"""The machine of one group: makes rows of `rebalances` and `stalls` from its events.

Fetches of the members come before their requests to the coordinator, so that a rebalance can report which
topic-partitions were unread. Memory is two generations of the group, the requests in flight, and the times at which its
topic-partitions were read (stalls.machine).
"""

from collections.abc import Iterator
from typing import Any

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupEvent, GroupLag, GroupRequest, MemberActivity
from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_spark.stories.groups.classic import ClassicGroup
from kafkascope_spark.stories.groups.epoch_based import EpochGroup
from kafkascope_spark.stories.groups.event_order import Event, EventOrder
from kafkascope_spark.stories.groups.generation_lag import GenerationLag
from kafkascope_spark.stories.groups.hidden_owners import HiddenOwners
from kafkascope_spark.stories.groups.protocol import GroupMachine
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.groups.unread import UnreadPartitions
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stalls.machine import Service, ServiceEvent
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.table import Stall

GroupRow = RebalanceRow | Stall
_PROTOCOL_OF_API = {api: protocol for protocol in PROTOCOLS for api in protocol.keys}


class Group:
    """Follows a group with one machine per protocol of its members; there are several only while they are upgraded."""

    def __init__(self, group_id: str, limits: StallLimits) -> None:
        self.group_id = group_id
        self._limits = limits
        self._service = Service(group_id)
        self._unread: UnreadPartitions | None = None
        self._hidden = HiddenOwners()
        self._ended: dict[str, RebalanceRow] = {}
        """Protocol -> the row of its last generation, which is completed when the next one begins."""
        self._machines: dict[str, GroupMachine[Any, Any]] = {}
        self._order = EventOrder()
        self._lag = GenerationLag()

    def take(self, event: GroupEvent | ServiceEvent, origin: Origin) -> Iterator[GroupRow]:
        """Takes the next event. Yields the rows of the generations that it ends."""
        match event:
            case GroupLag():
                self._lag.add(event)
            case GroupRequest() | MemberActivity():
                event.conn_id, event.ts_ns = origin.conn_id, origin.ts_ns
                event.client_instance_id = origin.client_instance_id
                for each in self._order.add(event):
                    yield from self._follow(each)
            case _:
                self._service.take(event, origin)

    def finish(self) -> Iterator[GroupRow]:
        """Yields the remaining rows."""
        for event in self._order.rest():
            yield from self._follow(event)
        for machine in self._machines.values():
            yield from self._completed(machine.finish())
        for row in self._ended.values():
            yield self._complete(row, None)
        yield from self._service.stalls(self._limits, self._hidden.without)

    def _follow(self, event: Event) -> Iterator[GroupRow]:
        protocol = _PROTOCOL_OF_API.get(event.subject.api_key)
        if protocol is not None and protocol.name not in self._machines:
            kind = ClassicGroup if protocol.members_assign else EpochGroup
            self._machines[protocol.name] = kind(self.group_id, protocol, self._limits.end_ns)
        # Commits and lookups of the coordinator are the same for all protocols.
        machines = self._machines.values() if protocol is None else [self._machines[protocol.name]]
        for machine in machines:
            yield from self._completed(machine.take(event))

    def _completed(self, rows: Iterator[RebalanceRow]) -> Iterator[GroupRow]:
        """Yields the rows of generations whose successor is known."""
        for row in rows:
            ended = self._ended.pop(row.group_protocol, None)
            if ended is not None:
                yield self._complete(ended, row.start_ns)
            self._ended[row.group_protocol] = row

    def _complete(self, row: RebalanceRow, next_start_ns: int | None) -> GroupRow:
        """Returns the row of a generation with the columns of lag and of unread topic-partitions filled."""
        if self._unread is None:
            self._unread = UnreadPartitions(self._service, self._limits.end_ns)
        self._unread.complete(row, next_start_ns)
        self._hidden.take(row, next_start_ns, self._unread.places_after(row.end_ns, next_start_ns))
        self._lag.complete(row)
        return row
