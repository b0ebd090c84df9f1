"""`Address`: groups the connections of one client address into clients, and passes their events on to these."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.tables.event_kinds.connections import ConnectionEvent, Lookup, Usage
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE, ClientEvent
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess, Request
from kafkascope_analyzer.dataset.zookeeper_sessions import ZOOKEEPER_PROTOCOL, ZooKeeperConnection, sessions_of
from kafkascope_parsers.error_facts import REFUSED_CREDENTIALS
from kafkascope_spark.stories.clients.client import Client, Story
from kafkascope_spark.stories.clients.connection_facts import ADDERS, connection_of, first_request, zookeeper_connection
from kafkascope_spark.stories.clients.identity.instances import instances_of
from kafkascope_spark.stories.clients.timeline import Event, Timeline
from kafkascope_spark.stories.event_decoder import Key
from kafkascope_spark.stories.incidents.signals.listener_use import listener_uses
from kafkascope_spark.stories.incidents.signals.lookup_run import lookup_runs
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.stalls.clients import group_of
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.startups.lookups import client_lookups


class Owner(NamedTuple):
    """The client of a connection, and the group in which it reads."""

    client_instance_id: str | None
    group_id: str | None


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
        self._late_copies: dict[str, int] = {}
        """conn_id -> time from which its requests are copies whose responses no process reads."""
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
        if event is not None and event.conn_id in self._late_copies and ts_ns >= self._late_copies[event.conn_id]:
            return
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
            for client in clients.values():
                self._late_copies |= client.instance.late_copies
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
