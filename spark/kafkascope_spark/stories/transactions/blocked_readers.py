"""Consumers that read only committed records and are blocked by a last stable offset that does not move."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import SHORTEST_UNSEEN_NS, TransactionBlockedByLso
from kafkascope_spark.stories.transactions.table import BlockedConsumer

MOST_CONSUMERS = 100
"""Largest number of consumers that are kept per last stable offset, independent of the size of the group."""


@dataclass(slots=True)
class _Consumer:
    """A client that one last stable offset blocked, summed up over its connections."""

    client: str | None
    from_ns: int
    until_ns: int
    lowest: int
    highest: int
    request_id: str

    def add(self, body: TransactionBlockedByLso) -> None:
        """Adds an event of another connection of the client."""
        self.from_ns = min(self.from_ns, body.from_ns)
        self.until_ns, self.request_id = max((self.until_ns, self.request_id), (body.until_ns, body.request_id))
        self.lowest = min(self.lowest, body.lowest_high_watermark)
        self.highest = max(self.highest, body.highest_high_watermark)


@dataclass(slots=True)
class BlockingOffset:
    """A last stable offset of a partition (`topic-partition`) and the consumers that it blocks."""

    partition: str
    offset: int
    _consumers: dict[str | None, _Consumer] = field(default_factory=dict)

    def add(self, body: TransactionBlockedByLso, client: str | None) -> None:
        """Adds an event of a connection of a client."""
        if client in self._consumers:
            self._consumers[client].add(body)
        else:
            low, high = body.lowest_high_watermark, body.highest_high_watermark
            times = body.from_ns, body.until_ns
            self._consumers[client] = _Consumer(client, *times, low, high, body.request_id)

    def rows(self) -> list[BlockedConsumer]:
        """Returns the elements of the column held_back, at most MOST_CONSUMERS: the consumers for which the high
        watermark advanced, in order of time."""
        waiting = [consumer for consumer in self._consumers.values() if consumer.highest > consumer.lowest]
        rows = (
            BlockedConsumer(
                client_instance_id=consumer.client,
                partition=self.partition,
                last_stable_offset=self.offset,
                from_ns=consumer.from_ns,
                until_ns=consumer.until_ns,
                records=consumer.highest - self.offset,
                request_id=consumer.request_id,
            )
            for consumer in waiting
        )
        return sorted(rows, key=blocked_order)[:MOST_CONSUMERS]


class BlockedReaders:
    """Groups events of the kind transaction_blocked_by_lso by partition and last stable offset."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[str, int], BlockingOffset] = {}

    def add(self, body: TransactionBlockedByLso, client: str | None) -> None:
        """Adds an event of a client."""
        place = body.partition, body.last_stable_offset
        self._offsets.setdefault(place, BlockingOffset(*place)).add(body, client)

    def take(self) -> list[BlockingOffset]:
        """Returns the offsets of all events since the last call."""
        offsets, self._offsets = list(self._offsets.values()), {}
        return offsets


def blocked_order(row: BlockedConsumer) -> tuple[object, ...]:
    """Returns the sort key of elements of held_back: by time, then client, partition and offset."""
    client = row.client_instance_id
    return (row.from_ns, client is not None, client or "", row.partition, row.last_stable_offset)


def is_long(blocked: Iterable[BlockedConsumer]) -> bool:
    """Whether one of the consumers was blocked long enough to show an unseen transaction."""
    return any(row.until_ns - row.from_ns >= SHORTEST_UNSEEN_NS for row in blocked)
