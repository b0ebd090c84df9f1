"""The machine over a service: makes rows of `stalls` from the events of the topic-partitions of one client or group.

The clients of the service come first. Memory is that of one client or group: its waits, and the ends of its runs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kafkascope_analyzer.dataset.tables.event_kinds.services import FetchRun, ProduceWait
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stalls.clients import ServiceClient, owner_of
from kafkascope_spark.stories.stalls.consume import Reads, consume_waits
from kafkascope_spark.stories.stalls.produce import produce_waits
from kafkascope_spark.stories.stalls.stall import JoinedWaits, StallLimits, Subject, Wait, join_waits, stalls_of
from kafkascope_spark.stories.stalls.table import Stall

FETCH_RUN = "fetch_run"
ServiceEvent = ServiceClient | ProduceWait | FetchRun
Place = tuple[str, int]
"""Topic and partition."""
WrittenPlace = Place | tuple[None, int | None]
"""Topic-partition to which records are written. The topic of an encrypted connection is not known; its node takes the
place of the partition."""
LeftOf = Callable[[Place, Wait], Iterable[Wait]]


def _all_of(_: Place, wait: Wait) -> Iterable[Wait]:
    return (wait,)


class ClientService:
    """The service of one client: what it writes, and what it reads if it has no group."""

    def __init__(self, limits: StallLimits) -> None:
        self._limits = limits
        self._service = Service()

    def take(self, event: ServiceEvent, origin: Origin) -> None:
        """Takes the next event, or the client."""
        self._service.take(event, origin)

    def finish(self) -> Iterator[Stall]:
        """Yields the stalls, without incident_id."""
        yield from self._service.stalls(self._limits)


class Service:
    """How one client, or the members of one group together, were served at each topic-partition."""

    def __init__(self, group_id: str | None = None) -> None:
        self._group_id = group_id
        self._clients: dict[str, ServiceClient] = {}
        self._produced: dict[WrittenPlace, list[ProduceWait]] = defaultdict(list)
        self._fetched: dict[Place, list[FetchRun]] = defaultdict(list)
        self._waits: dict[Place, list[Wait]] | None = None
        """All waits for records of each topic-partition; set when all events have been taken."""

    def take(self, event: ServiceEvent, origin: Origin) -> None:
        """Takes the next event, or a client of the service."""
        if isinstance(event, ServiceClient):
            self._clients[event.client_instance_id] = event
            return
        event.client_instance_id = origin.client_instance_id or ""
        if isinstance(event, ProduceWait):
            self._produced[_written_at(event)].append(event)
        else:
            self._fetched[event.topic, event.partition].append(event)

    def unread(self, end_ns: int) -> Mapping[Place, list[JoinedWaits]]:
        """Returns all waits for records of each topic-partition, of any length. Call it when all events have been
        taken. end_ns: end of the capture."""
        return {place: join_waits(waits, end_ns) for place, waits in self._consume_waits().items()}

    def _consume_waits(self) -> Mapping[Place, list[Wait]]:
        if self._waits is None:
            members = list(self._clients.values())
            reads = Reads(self.fetched())
            self._waits = {place: list(consume_waits(runs, members, reads)) for place, runs in self._fetched.items()}
        return self._waits

    def fetched(self) -> Iterator[FetchRun]:
        """Yields the runs of all topic-partitions, each with its client."""
        for runs in self._fetched.values():
            yield from runs

    def stalls(self, limits: StallLimits, left_of: LeftOf = _all_of) -> Iterator[Stall]:
        """Yields the stalls of all topic-partitions. left_of: returns the remaining parts of each wait for records, as
        members that the capture does not show may read them, too."""
        for (topic, partition), events in self._produced.items():
            client = self._clients.get(events[0].client_instance_id)
            subject = Subject("produce", self._owner(events), topic=topic, partition=partition)
            if topic is None:
                subject = Subject("produce", self._owner(events), claimed=True)
            yield from stalls_of(subject, produce_waits(events, client), self._clients, limits)
        for (topic, partition), waits in self._consume_waits().items():
            owner = self._owner(self._fetched[topic, partition])
            subject = Subject("consume", owner, self._group_id, topic=topic, partition=partition)
            left = [part for wait in waits for part in left_of((topic, partition), wait)]
            yield from stalls_of(subject, left, self._clients, limits)

    def _owner(self, events: Sequence[ProduceWait | FetchRun]) -> str:
        return owner_of(events[0].client_instance_id, self._group_id)


def _written_at(event: ProduceWait) -> WrittenPlace:
    if event.topic is None or event.partition is None:
        return None, event.node_id
    return event.topic, event.partition
