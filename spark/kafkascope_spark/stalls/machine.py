"""The state machine over services: events of the topic-partitions of one client or group in, rows of `stalls` out.

Rows come sorted (client_stage.SHARED_ORDER), first those of SERVICE_CLIENT, which tell who the clients of the service
are. Memory is that of one client or group: its waits, and the ends of its runs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafkascope_spark.model import Row
from kafkascope_spark.stalls.clients import SERVICE_CLIENT, ServiceClient
from kafkascope_spark.stalls.consume import consume_waits
from kafkascope_spark.stalls.produce import produce_waits
from kafkascope_spark.stalls.stall import Subject, stall_rows

PRODUCE_WAIT, FETCH_RUN = "produce_wait", "fetch_run"
_Place = tuple[str, int]


class Stalls:
    """Follows services one after the other. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._end_ns = capture_ns[1]
        self._owner: _Owner | None = None

    def feed(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Stalls that the events end, without incident_id. Rows are sorted (client_stage.SHARED_ORDER)."""
        for row in rows:
            if self._owner is None or self._owner.key != row["key"]:
                yield from self.finish()
                self._owner = _Owner(row["key"])
            self._owner.take(row)

    def finish(self) -> Iterator[Row]:
        """Stalls of the last service."""
        if self._owner is not None:
            yield from self._owner.stalls(self._end_ns)
        self._owner = None


class _Owner:
    """A client or group, and how it was served at each topic-partition."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._clients: dict[str, ServiceClient] = {}
        self._waits: dict[_Place, list[Row]] = defaultdict(list)
        self._runs: dict[_Place, list[Row]] = defaultdict(list)

    def take(self, row: Row) -> None:
        """The next row."""
        body = row[row["kind"]]
        if row["kind"] == SERVICE_CLIENT:
            self._clients[body["client_instance_id"]] = ServiceClient(**body)
            return
        places = self._waits if row["kind"] == PRODUCE_WAIT else self._runs
        places[body["topic"], body["partition"]].append(body | {"client_instance_id": row["client_instance_id"]})

    def stalls(self, end_ns: int) -> Iterator[Row]:
        """The stalls of all topic-partitions."""
        for (topic, partition), events in self._waits.items():
            client = self._clients.get(events[0]["client_instance_id"])
            subject = Subject("produce", self.key, topic=topic, partition=partition)
            yield from stall_rows(subject, produce_waits(events, client), self._clients, end_ns)
        group_id = self.key.removeprefix("group ") if self.key.startswith("group ") else None
        for (topic, partition), runs in self._runs.items():
            subject = Subject("consume", self.key, group_id, topic=topic, partition=partition)
            yield from stall_rows(subject, consume_waits(runs, list(self._clients.values())), self._clients, end_ns)
