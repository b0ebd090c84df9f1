"""The state machine over services: events of the topic-partitions of one client or group in, rows of `stalls` out.

Rows come sorted (client_stage.SHARED_ORDER), first those of SERVICE_CLIENT, which say who the clients of the service
are. Memory is that of one client or group: its waits, and the ends of its runs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kafkascope_analyzer.dataset.stories.stalls import Stall
from kafkascope_spark.stories.model import Row
from kafkascope_spark.stories.stalls.clients import SERVICE_CLIENT, ServiceClient, owner_of
from kafkascope_spark.stories.stalls.consume import Reads, consume_waits
from kafkascope_spark.stories.stalls.produce import produce_waits
from kafkascope_spark.stories.stalls.stall import JoinedWaits, StallLimits, Subject, Wait, join_waits, stalls_of

PRODUCE_WAIT, FETCH_RUN = "produce_wait", "fetch_run"
Place = tuple[str, int]
"""Topic and partition."""


class Stalls:
    """Follows what clients write, and what clients without a group read, one client after the other."""

    def __init__(self, limits: StallLimits) -> None:
        self._limits = limits
        self._key: str | None = None
        self._service = Service()

    def feed(self, rows: Iterable[Row]) -> Iterator[Stall]:
        """Stalls that the events end, without incident_id. Rows are sorted (client_stage.SHARED_ORDER)."""
        for row in rows:
            if self._key != row["key"]:
                yield from self.finish()
                self._key = row["key"]
            self._service.take(row)

    def finish(self) -> Iterator[Stall]:
        """Stalls of the last client."""
        yield from self._service.stalls(self._limits)
        self._service = Service()


class Service:
    """How one client was served at each topic-partition, or the members of one group together."""

    def __init__(self, group_id: str | None = None) -> None:
        self._group_id = group_id
        self._clients: dict[str, ServiceClient] = {}
        self._produced: dict[Place, list[Row]] = defaultdict(list)
        self._fetched: dict[Place, list[Row]] = defaultdict(list)
        self._waits: dict[Place, list[Wait]] | None = None
        """For records of each topic-partition, whatever their length; known once all events are taken."""

    def take(self, row: Row) -> None:
        """The next row: a client of the service, or an event."""
        body = row[row["kind"]]
        if row["kind"] == SERVICE_CLIENT:
            self._clients[body.client_instance_id] = body
            return
        places = self._produced if row["kind"] == PRODUCE_WAIT else self._fetched
        places[body["topic"], body["partition"]].append(body | {"client_instance_id": row["client_instance_id"]})

    def unread(self, end_ns: int) -> Mapping[Place, list[JoinedWaits]]:
        """The waits for records of each topic-partition, whatever their length, once all events are taken. end_ns: end
        of the capture."""
        return {place: join_waits(waits, end_ns) for place, waits in self._consume_waits().items()}

    def _consume_waits(self) -> Mapping[Place, list[Wait]]:
        if self._waits is None:
            members = list(self._clients.values())
            reads = Reads(self.fetched())
            self._waits = {place: list(consume_waits(runs, members, reads)) for place, runs in self._fetched.items()}
        return self._waits

    def fetched(self) -> Iterator[Row]:
        """The runs of all topic-partitions (fetch_run), with the client of each."""
        for runs in self._fetched.values():
            yield from runs

    def stalls(self, limits: StallLimits) -> Iterator[Stall]:
        """The stalls of all topic-partitions."""
        for (topic, partition), events in self._produced.items():
            client = self._clients.get(events[0]["client_instance_id"])
            subject = Subject("produce", self._owner(events), topic=topic, partition=partition)
            yield from stalls_of(subject, produce_waits(events, client), self._clients, limits)
        for (topic, partition), waits in self._consume_waits().items():
            owner = self._owner(self._fetched[topic, partition])
            subject = Subject("consume", owner, self._group_id, topic=topic, partition=partition)
            yield from stalls_of(subject, waits, self._clients, limits)

    def _owner(self, events: list[Row]) -> str:
        return owner_of(events[0]["client_instance_id"], self._group_id)
