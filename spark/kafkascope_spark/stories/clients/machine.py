"""The machines over the clients of one address after the other: they group its connections into clients, follow their
starts and recoveries, and make rows of the story tables.

`feed(batch)` takes rows in the order of `events` (and asserts that), any number at a time; `finish()` returns the
remaining rows. Memory is that of one address: its connections, and per client its start and its open recoveries.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.tables.event_kinds.connections import ConnectionEvent, Lookup, Usage
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE, ClientEvent
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess, Request
from kafkascope_analyzer.dataset.zookeeper_sessions import (
    ZOOKEEPER_PROTOCOL,
    ZooKeeperConnection,
    ZooKeeperSession,
    sessions_of,
)
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.error_facts import REFUSED_CREDENTIALS
from kafkascope_spark.stories.cadences.tracker import Cadences
from kafkascope_spark.stories.clients.connection_facts import ADDERS, connection_of, first_request, zookeeper_connection
from kafkascope_spark.stories.clients.identity.client_rows import client_row
from kafkascope_spark.stories.clients.identity.instances import Instance, instances_of
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.clients.timeline import Event, Kind, Timeline
from kafkascope_spark.stories.event_decoder import EventRow, Key
from kafkascope_spark.stories.incidents.affected_client import affected_client
from kafkascope_spark.stories.incidents.listener_use import listener_uses
from kafkascope_spark.stories.incidents.lookup_run import lookup_runs
from kafkascope_spark.stories.incidents.silent_client import silent_client_rows
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.tracker import Recoveries
from kafkascope_spark.stories.stage_rows import PassedOn, StageRow
from kafkascope_spark.stories.stalls.calls import Calls
from kafkascope_spark.stories.stalls.clients import group_of, service_clients
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.unasked import unasked_stalls
from kafkascope_spark.stories.startups.lifecycle import Startups
from kafkascope_spark.stories.startups.lookups import client_lookups
from kafkascope_spark.stories.transactions.machine import TRANSACTION, ClientEnd

Story = StoryRow | StageRow | ZooKeeperSession | PassedOn
"""A row that the machine makes: of a table, for the incidents, or for a key that several clients share."""
ADDRESS = "client address"
"""Kind of failed part for an error before the connections of an address are grouped into clients."""


class Owner(NamedTuple):
    """The client of a connection, and the group in which it reads."""

    client_instance_id: str | None
    group_id: str | None


class ClientStories:
    """Makes rows of story tables from rows of events. capture_ns: first and last packet of the capture; limits: which
    waits are stalls; failed_parts: collects addresses and clients that raise an error, so that the others still run."""

    def __init__(
        self, capture_ns: tuple[int, int], limits: StallLimits, failed_parts: FailedParts | None = None
    ) -> None:
        self._capture_ns = capture_ns
        self._limits = limits
        self._failed_parts = FailedParts() if failed_parts is None else failed_parts
        self._part = self._failed_parts.part(ADDRESS)
        """Catches the errors of the address."""
        self._address: Address | None = None
        self._last: Key = ("", 0, 0, 0)
        self._owners: dict[str, Owner] = {}

    def feed(self, batch: Iterable[EventRow]) -> Iterator[Story]:
        """Yields the story rows that the batch completes. Raises ValueError if the rows are out of order."""
        for client_ip, events in groupby(self._in_order(batch), key=_address_of):
            if self._address is None or self._address.client_ip != client_ip:
                yield from self.finish()
                self._address = Address(client_ip, self._capture_ns, self._limits, self._failed_parts)
                self._part = self._failed_parts.part(ADDRESS, client_ip)
            self._take(self._address, list(events))
        if self._address is not None:
            yield from self._part.rows(self._address.ready)

    def _in_order(self, batch: Iterable[EventRow]) -> Iterator[EventRow]:
        """Yields the rows of the batch. Raises ValueError if they are out of order."""
        for event in batch:
            if event[0] < self._last:
                raise ValueError(f"events out of order: {event[0]} after {self._last}")
            self._last = event[0]
            yield event

    def _take(self, address: "Address", events: list[EventRow]) -> None:
        if not self._part.has_failed:
            with self._part:
                for key, body in events:
                    address.take(key, body)

    def take_owners(self) -> dict[str, Owner]:
        """Returns conn_id -> client_instance_id and group, for the addresses that were fed since the last call, and for
        the present one."""
        owners, self._owners = self._owners, {}
        return owners | self._owners_so_far()

    def finish(self) -> Iterator[Story]:
        """Yields the story rows of the last address."""
        if self._address is not None:
            yield from self._part.rows(self._address.finish)
            self._owners |= self._owners_so_far()
            self._address = None

    def _owners_so_far(self) -> dict[str, Owner]:
        """Returns the owners of the address's connections; none if that raises an error."""
        if self._address is not None:
            with self._part:
                return self._address.owners()
        return {}


def _address_of(event: EventRow) -> str:
    return event[0][0]


class Client:
    """One client instance and the machines that follow it. failed_parts: collects its errors."""

    def __init__(
        self, instance: Instance, capture_ns: tuple[int, int], limits: StallLimits, failed_parts: FailedParts
    ) -> None:
        self.instance = instance
        self._failed_parts = failed_parts
        self._limits = limits
        self._part = failed_parts.part("client", instance.instance_id)
        """Catches the errors of its machines."""
        self.startups = Startups(instance, capture_ns, limits.uncovered)
        self.cadences = Cadences(instance, limits.uncovered)
        self.recoveries = Recoveries(instance, capture_ns, limits.uncovered)
        self.calls = Calls(instance, limits)
        self.member_ids: list[str] = []
        self.evicted_ns = 0

    def take(self, event: Event, timeline: Timeline) -> None:
        """Passes the event to the machines. After an error in one of them, all further events are dropped."""
        if not self._part.has_failed:
            with self._part:
                if self.instance.is_encrypted:
                    self._take_claimed(event)
                else:
                    self._take(event, timeline)

    def _take_claimed(self, event: Event) -> None:
        """Takes an event of an encrypted client. Its connections are known, and on each the first requests of some
        guessed APIs. Only a Produce without a response counts as a wait: a Fetch may be a long poll."""
        what = event.what
        if event.kind is Kind.OPEN:
            self.startups.on_open(what)
            self.recoveries.on_open(what)
        elif event.kind is Kind.UP:
            self.recoveries.on_up(what)
        elif event.kind is Kind.REQUEST:
            self.startups.on_request(what)
            if what.api_key == PRODUCE:
                self.recoveries.on_request(what)
        elif event.kind is Kind.ANSWER:
            self.startups.on_answer(what)
            self.recoveries.on_answer(what, [])
        elif event.kind is Kind.CLOSE:
            self.startups.on_close(what, event.ts_ns)
            self.recoveries.on_close(what, event.ts_ns)

    def _take(self, event: Event, timeline: Timeline) -> None:
        what = event.what
        if event.kind is Kind.REQUEST:
            self._on_request(what)
        elif event.kind is Kind.ANSWER:
            errors = timeline.errors_of(what)
            self.startups.on_answer(what, errors)
            self.recoveries.on_answer(what, errors)
            self.calls.on_answer(what, errors)
        elif event.kind is Kind.LATE_ANSWER:
            self.recoveries.on_late_answer(what, event.ts_ns, timeline.errors_of(what))
        elif event.kind is Kind.ERROR_RUN:
            self._on_error_run(what)
        elif event.kind is Kind.OPEN:
            self.startups.on_open(what)
            self.recoveries.on_open(what)
        elif event.kind is Kind.UP:
            self.recoveries.on_up(what)
        elif event.kind is Kind.ACCESS:
            self.recoveries.on_access(what)
        else:
            self.startups.on_close(what, event.ts_ns)
            self.recoveries.on_close(what, event.ts_ns)

    def _on_error_run(self, run: ErrorRun) -> None:
        """Handles a run of repeated errors. Starts ignore it, because the requests before and after the run have their
        own events."""
        if run.error_name in EVICTIONS:
            self.evicted_ns = run.last_sent_ns
        if run.request is not None:
            self.cadences.on_repeated(run.request, run.n, run.last_sent_ns)
            self.recoveries.on_error_run(run, run.request)
            self.calls.on_error_run(run, run.request)

    def _on_request(self, request: Request) -> None:
        if request.member_id and request.member_id not in self.member_ids:
            self.member_ids.append(request.member_id)
        if request.error_name in EVICTIONS:
            self.evicted_ns = request.ts_ns
        self.startups.on_request(request)
        self.cadences.on_request(request)
        if request.status == "no_response_expected":
            self.startups.on_request_without_response(request)
        self.recoveries.on_request(request)
        self.calls.on_request(request)

    def finish(self, capture_ns: tuple[int, int]) -> Iterator[Story]:
        """Yields the client's row, the rows that other machines need, and its stalls, starts, loops and recoveries."""
        row = client_row(self.instance, self.member_ids, self.evicted_ns, capture_ns)
        yield row
        for name in sorted(set().union(*(c.transactional_ids for c in self.instance.connections))):
            end = ClientEnd(row.client_instance_id, row.left_ns)
            yield PassedOn(TRANSACTION, name, end, row.client_instance_id)
        yield from service_clients(self.instance, row)
        if row.kind != "broker":
            yield affected_client(self.instance, row)
            yield from silent_client_rows(self.instance, capture_ns[1])
        if self._part.has_failed:
            return
        for kind, rows in self._sections(row).items():
            yield from self._failed_parts.rows(kind, self.instance.instance_id, rows)

    def _sections(self, row: ClientRow) -> dict[str, Callable[[], Iterable[Story]]]:
        """Returns functions that make its stalls, starts, loops and recoveries, by section. row: its row of
        `clients`."""
        stalls: Callable[[], Iterable[Story]] = partial(self.calls.finish, row.left_ns)
        if self.instance.is_encrypted:
            stalls = partial(unasked_stalls, self.instance, self._limits)
        elif row.kind == "broker":  # a broker sends requests for its clients, and does not wait itself
            stalls = tuple
        return {
            "stalls of client": stalls,
            "starts of client": self.startups.finish,
            "cadences of client": tuple if self.instance.is_encrypted else self.cadences.finish,
            "recoveries of client": partial(self.recoveries.finish, row.left_ns),
        }

    def ready(self) -> Iterator[Story]:
        """Yields the rows that are already complete."""
        return self._part.rows(self.recoveries.ready)


class Address:
    """Follows the events of one client address: first all its connections, then the events on them."""

    def __init__(
        self, client_ip: str, capture_ns: tuple[int, int], limits: StallLimits, failed_parts: FailedParts
    ) -> None:
        self.client_ip = client_ip
        self._failed_parts = failed_parts
        self._capture_ns = capture_ns
        self._limits = limits
        self._connections: dict[str, Connection] = {}
        self._clients: dict[str, Client] = {}
        self._timeline: Timeline | None = None
        self._facts: dict[type[ClientEvent], list[Any]] = {kind: [] for kind in ADDERS}
        self._lookups: list[Lookup] = []
        self._to_zookeeper: list[ZooKeeperConnection] = []
        self._refused: dict[str, str] = {}
        """conn_id of connections on which SASL was refused -> the error."""
        self._first_ids: set[str] = set()
        """The first request of each kind; some also have their own event."""

    def take(self, key: Key, event: ClientEvent | None) -> None:
        """Takes the next row."""
        _, section, ts_ns, _ = key
        if section == WHOLE:
            self._add_fact(event)
            return
        timeline = self._timeline or self._begin()
        self._follow(timeline.events_before(ts_ns))
        if isinstance(event, Request):
            if event.request_id not in self._first_ids:
                timeline.add_request(event)
        elif isinstance(event, ErrorRun):
            timeline.add_error_run(event)
            if event.error_name in REFUSED_CREDENTIALS:
                self._refused.setdefault(event.conn_id, event.error_name)
        elif isinstance(event, PartitionAccess):
            timeline.add_access(event)

    def _add_fact(self, event: ClientEvent | None) -> None:
        if isinstance(event, ConnectionEvent):
            connection = connection_of(event)
            if connection.protocol == ZOOKEEPER_PROTOCOL:
                self._to_zookeeper.append(zookeeper_connection(self.client_ip, event))
            self._connections[connection.conn_id] = connection
        elif isinstance(event, Lookup):
            self._lookups.append(event)
        elif event is not None and type(event) in self._facts:
            self._facts[type(event)].append(event)

    def _begin(self) -> Timeline:
        """Groups the connections into clients when all of them are known. Returns the timeline."""
        if self._timeline is None:
            for kind, add in ADDERS.items():
                for row in self._facts[kind]:
                    if row.conn_id in self._connections:
                        add(self._connections[row.conn_id], row)
            connections = list(self._connections.values())
            clients = {}
            for conn_id, instance in instances_of(self.client_ip, connections).items():
                if instance.instance_id not in clients:
                    clients[instance.instance_id] = Client(instance, self._capture_ns, self._limits, self._failed_parts)
                self._clients[conn_id] = clients[instance.instance_id]
            for lookup in client_lookups(self._lookups, [c.instance for c in clients.values()]):
                clients[lookup.instance_id].startups.lookups.append(lookup)
            self._timeline = Timeline([c for c in connections if c.conn_id in self._clients], self._capture_ns[1])
            self._add_first_requests(self._timeline)
            self._facts = {}
        return self._timeline

    def _add_first_requests(self, timeline: Timeline) -> None:
        for row in self._facts[Usage]:
            request = first_request(row)
            if request is not None:
                self._first_ids.add(request.request_id)
                timeline.add_request(request)

    def _follow(self, events: Iterable[Event]) -> None:
        timeline = self._begin()
        for event in events:
            client = self._clients.get(event.what.conn_id)
            if client is not None:
                client.take(event, timeline)

    def owners(self) -> dict[str, Owner]:
        """Returns conn_id -> client_instance_id and group; empty until all connections are known."""
        groups = {client: group_of(client.instance) for client in dict.fromkeys(self._clients.values())}
        return {conn_id: Owner(c.instance.instance_id, groups[c]) for conn_id, c in self._clients.items()}

    def ready(self) -> Iterator[Story]:
        """Yields the rows that are already complete."""
        for client in dict.fromkeys(self._clients.values()):
            yield from client.ready()

    def finish(self) -> Iterator[Story]:
        """Yields the rows of all clients of the address, of its ZooKeeper sessions, its uses of listeners and its runs
        of DNS queries."""
        self._follow(self._begin().rest())
        for client in dict.fromkeys(self._clients.values()):
            finish = partial(client.finish, self._capture_ns)
            yield from self._failed_parts.rows("client", client.instance.instance_id, finish)
        instances = {conn_id: client.instance for conn_id, client in self._clients.items()}
        used = listener_uses(self.client_ip, self._connections.values(), instances, self._refused, self._capture_ns[1])
        yield from used
        yield from lookup_runs(self.client_ip, self._lookups, self._capture_ns[1])
        yield from sessions_of(self._to_zookeeper, self._capture_ns[1])


EVICTIONS = ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH")
"""Errors of a group for a client that is no longer a member."""
