"""Base class of the state machines of all group protocols, which make rows of `rebalances` from events.

A machine follows one group through generations or group epochs. Its state changes only through its table of transitions
(`_on`); requests of APIs without a handler are ignored. Memory is that of two generations and of the items without an
owner.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity
from kafkascope_parsers.error_facts import COMMIT_REFUSED
from kafkascope_parsers.group_protocols import GroupProtocol
from kafkascope_spark.stories.groups.event_order import Event, Phase
from kafkascope_spark.stories.groups.generation import Generation
from kafkascope_spark.stories.groups.ownership import Ownership
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.groups.transitions import E, S, Transitions

Handler = Callable[[GroupRequest], Iterator[RebalanceRow] | None]


class GroupMachine(Generic[S, E]):
    """Machine of one group and one protocol. capture_end_ns: last packet of the capture."""

    def __init__(self, group_id: str, protocol: GroupProtocol, capture_end_ns: int, table: Transitions[S, E]) -> None:
        self.group_id = group_id
        self.protocol = protocol
        self.state: S = table.first
        self._table = table
        self._end_ns = capture_end_ns
        self._now: Generation | None = None
        self._before: Generation | None = None
        self._was_empty = False
        self._ownership = Ownership(exclusive=not protocol.shares_partitions)
        self._handlers: Mapping[tuple[Phase, int], Handler] = {}
        """Handlers of requests and responses by phase and API; subclasses fill it."""

    def take(self, event: Event) -> Iterator[RebalanceRow]:
        """Takes an event. Yields the rows of the generations that it ends."""
        if isinstance(event.subject, MemberActivity):
            yield from self._on_activity(event.subject)
            return
        handler = self._handlers.get((event.phase, event.subject.api_key))
        if handler is not None:
            yield from handler(event.subject) or ()

    def finish(self) -> Iterator[RebalanceRow]:
        """Yields the rows of the last generations."""
        raise NotImplementedError

    def _on_activity(self, activity: MemberActivity) -> Iterator[RebalanceRow]:
        raise NotImplementedError

    def _on(self, event: E) -> None:
        self.state = self._table.after(self.state, event)

    def _current(self) -> Generation:
        """Returns the present generation. It exists in every state in which this is called."""
        assert self._now is not None
        return self._now

    def _commit_refused(self, request: GroupRequest) -> Iterator[RebalanceRow] | None:
        if self._now is not None and request.error in COMMIT_REFUSED:
            self._now.refuse(request)
        return None
