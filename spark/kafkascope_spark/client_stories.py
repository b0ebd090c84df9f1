"""The state machine over one address's events: it groups connections into clients, follows their starts and their
episodes, and gives rows of the story tables.

`feed(batch)` takes rows (rows.EventRow) sorted as events.client_events sorts them (and asserts that), any number at a
time; `finish()` gives what is left. Memory is that of one address: its connections, and per client what a start and
its open episodes hold.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kafkascope_spark.cadences.watch import Cadences
from kafkascope_spark.identity.client_rows import client_row
from kafkascope_spark.identity.instances import Instance, instances_of
from kafkascope_spark.recoveries.watch import Recoveries
from kafkascope_spark.rows import (
    BEAT,
    CONNECTION,
    LOOKUP,
    SAMPLED,
    TOLD,
    USED,
    EventRow,
    Key,
    add_beat,
    add_samples,
    add_told,
    add_usage,
    connection_of,
    first_of,
    lookup_of,
)
from kafkascope_spark.runs import Repeats, Run
from kafkascope_spark.startups.lifecycle import Startups
from kafkascope_spark.startups.lookups import client_lookups
from kafkascope_spark.timeline import Event, Kind, Timeline
from kafkascope_spark.wire import Connection, Lookup, Request, Row

TableRow = tuple[str, Row]
MORE_ROWS = 256
"""Rows of a run that are taken one by one before it is tried again whether the rest may be taken at once; then twice as
many."""


class ClientStories:
    """Rows in, rows of story tables out. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._capture_ns = capture_ns
        self._address: Address | None = None
        self._last: Key = ("", 0, 0, 0)

    def feed(self, batch: Iterable[EventRow]) -> Iterator[TableRow]:
        """Story rows of the addresses that the batch completes. Raises ValueError when the rows are out of order."""
        last, address = self._last, self._address
        for key, body in batch:
            if key < last:
                raise ValueError(f"events out of order: {key} after {last}")
            self._last = last = body.last_key if isinstance(body, Run) else key
            if address is None or address.client_ip != key[0]:
                yield from self.finish()
                self._address = address = Address(key[0], self._capture_ns)
            address.take(key, body)
        if self._address is not None:
            yield from self._address.ready()

    def finish(self) -> Iterator[TableRow]:
        """Story rows of the last address."""
        if self._address is not None:
            yield from self._address.finish()
            self._address = None


class Client:
    """One instance and what follows it."""

    def __init__(self, instance: Instance, capture_ns: tuple[int, int]) -> None:
        self.instance = instance
        self.startups = Startups(instance, capture_ns)
        self.cadences = Cadences(instance)
        self.recoveries = Recoveries(instance, capture_ns)
        self.member_ids: list[str] = []
        self.evicted_ns = 0

    def take(self, event: Event, timeline: Timeline) -> None:
        """Hand the event to the machines."""
        what = event.what
        if event.kind is Kind.REQUEST:
            self._on_request(what)
        elif event.kind is Kind.ANSWER:
            failures = timeline.failures_of(what)
            self.startups.on_answer(what, failures)
            self.recoveries.on_answer(what, failures)
        elif event.kind is Kind.UNHEARD:
            self.recoveries.on_unheard(what, event.ts_ns, timeline.failures_of(what))
        elif event.kind is Kind.OPEN:
            self.startups.on_open(what)
            self.recoveries.on_open(what)
        elif event.kind is Kind.UP:
            self.recoveries.on_up(what)
        elif event.kind is Kind.TOUCH:
            self.recoveries.on_touch(what)
        else:
            self.startups.on_close(what, event.ts_ns)
            self.recoveries.on_close(what, event.ts_ns)

    def take_repeats(self, repeats: Repeats) -> bool:
        """Whether the failures were taken all at once: where each by itself would move no machine but one episode."""
        if self.startups.is_affected_by(repeats.request):
            return False
        return self.recoveries.on_repeats(repeats)

    def _on_request(self, request: Request) -> None:
        if request.member_id and request.member_id not in self.member_ids:
            self.member_ids.append(request.member_id)
        if request.error_name in ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"):
            self.evicted_ns = request.ts_ns
        self.startups.on_request(request)
        self.cadences.on_request(request)
        if request.status == "no_response_expected":
            self.startups.on_request_without_response(request)
        self.recoveries.on_request(request)

    def finish(self, capture_ns: tuple[int, int]) -> Iterator[TableRow]:
        """The client's rows."""
        yield "clients", client_row(self.instance, self.member_ids, self.evicted_ns, capture_ns)
        yield from self.startups.finish()
        yield from self.cadences.finish()
        yield from self.recoveries.finish()


class Address:
    """The events of one client address: first all its connections, then what happened on them."""

    def __init__(self, client_ip: str, capture_ns: tuple[int, int]) -> None:
        self.client_ip = client_ip
        self._capture_ns = capture_ns
        self._connections: dict[str, Connection] = {}
        self._clients: dict[str, Client] = {}
        self._timeline: Timeline | None = None
        self._known: dict[int, list[Row]] = {rank: [] for rank in _ADDERS}
        self._lookups: list[Lookup] = []
        self._told_ids: set[str] = set()
        """The first requests of each kind: some have a row of their own too."""
        self._last_id = ""

    def take(self, key: Key, body: Any) -> None:
        """The next row, or run of rows."""
        if isinstance(body, Run):
            self._take_run(body)
            return
        _, section, ts_ns, rank = key
        if section == 0:
            self._know(rank, body)
            return
        timeline = self._timeline or self._begin()
        self._follow(timeline.until(ts_ns))
        if rank == 0:
            if body.request_id != self._last_id and body.request_id not in self._told_ids:
                timeline.tell(body)
            self._last_id = body.request_id
        elif rank == 1:
            timeline.failure(body)
        else:
            timeline.touch(body)

    def _take_run(self, run: Run) -> None:
        """The same failure again and again: its edges row by row, its middle at once where that comes to the same.
        Where it does not yet, as an episode has to tell how it began, some more row by row, and so on."""
        more = MORE_ROWS
        while (middle := run.middle()) is not None:
            begin, end = middle
            self._take_rows(run.rows(0, begin))
            if self._take_middle(run, begin, end):
                self._take_rows(run.rows(end))
                return
            self._take_rows(run.rows(begin, begin + more))
            run, more = run.rest(begin + more), 2 * more
        self._take_rows(run.rows(0))

    def _take_rows(self, rows: Iterable[EventRow]) -> None:
        for key, body in rows:
            self.take(key, body)

    def _take_middle(self, run: Run, begin: int, end: int) -> bool:
        """Whether it was taken at once: nothing else may happen at this address until the run is over."""
        timeline = self._timeline or self._begin()
        self._follow(timeline.until(int(run.ts_ns[begin])))
        waiting = timeline.waiting(int(run.ts_ns[-1]))
        if timeline.owes_failures or any(event.kind is not Kind.ANSWER for event in waiting):
            return False
        due = [event.what for event in waiting if event.ts_ns < run.ts_ns[end]]
        found = run.repeats(begin, end, due)
        if found is None:
            return False
        repeats, later = found
        client = self._clients.get(repeats.request.conn_id)
        alike = all(_is_like(event.what, repeats.request) for event in waiting)
        if client is None or not alike or not client.take_repeats(repeats):
            return False
        timeline.drop(int(run.ts_ns[end]))
        for _, request in later:
            timeline.tell(request)
        return True

    def _know(self, rank: int, body: Row) -> None:
        if rank == CONNECTION:
            connection = connection_of(body)
            self._connections[connection.conn_id] = connection
        elif rank == LOOKUP:
            self._lookups.append(lookup_of(body))
        else:
            self._known[rank].append(body)

    def _begin(self) -> Timeline:
        """Once all connections are known: who is who."""
        if self._timeline is None:
            for rank, add in _ADDERS.items():
                for row in self._known[rank]:
                    if row["conn_id"] in self._connections:
                        add(self._connections[row["conn_id"]], row)
            connections = list(self._connections.values())
            clients = {}
            for conn_id, instance in instances_of(self.client_ip, connections).items():
                if instance.instance_id not in clients:
                    clients[instance.instance_id] = Client(instance, self._capture_ns)
                self._clients[conn_id] = clients[instance.instance_id]
            for lookup in client_lookups(self._lookups, [c.instance for c in clients.values()]):
                clients[lookup.instance_id].startups.lookups.append(lookup)
            self._timeline = Timeline([c for c in connections if c.conn_id in self._clients], self._capture_ns[1])
            self._tell_firsts(self._timeline)
            self._known = {}
        return self._timeline

    def _tell_firsts(self, timeline: Timeline) -> None:
        for row in self._known[USED]:
            request = first_of(row)
            if request is not None:
                self._told_ids.add(request.request_id)
                timeline.tell(request)

    def _follow(self, events: Iterable[Event]) -> None:
        timeline = self._begin()
        for event in events:
            client = self._clients.get(event.what.conn_id)
            if client is not None:
                client.take(event, timeline)

    def ready(self) -> Iterator[TableRow]:
        """The rows that are done before the address is."""
        for client in dict.fromkeys(self._clients.values()):
            yield from client.recoveries.ready()

    def finish(self) -> Iterator[TableRow]:
        """The rows of all clients of the address."""
        self._follow(self._begin().rest())
        for client in dict.fromkeys(self._clients.values()):
            yield from client.finish(self._capture_ns)


def _is_like(request: Request, other: Request) -> bool:
    """Whether one request fails as the other does, on the same connection."""
    return all(getattr(request, name) == getattr(other, name) for name in _ALIKE)


_ALIKE: tuple[str, ...] = ("conn_id", "node_id", "api_key", "api_version", "error_code", "status", "throttle_ms")
_ALIKE += ("group_id", "member_id", "transactional_id")
_ADDERS = {USED: add_usage, SAMPLED: add_samples, TOLD: add_told, BEAT: add_beat}
"""Rank of what is known of a connection -> what adds it."""
