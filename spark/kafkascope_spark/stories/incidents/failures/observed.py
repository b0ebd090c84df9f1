"""`Observed`: facts of the capture about the clients and brokers of a failure, for the advice."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Protocol

from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.signals.misuse import Misuse
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall

NO_SERVER = "BROKER:9092"
"""Placeholder for a broker if the capture shows none that served clients."""
GAVE_UP = "REQUEST_UNANSWERED"
"""Error of a recovery that begins with a request whose connection the client closed before a response came."""


class Concerned(Protocol):
    """The attributes of a failure that `Observed` needs."""

    servers: frozenset[str]
    misuse: Misuse | None
    stalls: list[Stall]
    recoveries: list[ClientRecovery]
    messages: list[str]
    silences: list[SilentClient]
    rebalances: list[RebalanceRow]
    client_instance_ids: set[str]


class Observed:
    """Clients and brokers of one failure. clients: all known clients by client_instance_id; serving: result of
    serving_addresses."""

    def __init__(self, failure: Concerned, clients: Mapping[str, AffectedClient], serving: Iterable[str]) -> None:
        self._failure = failure
        self._known = clients
        self._serving = serving

    @property
    def messages(self) -> list[str]:
        """Messages that brokers sent with the errors, the most frequent first."""
        return self._failure.messages

    @cached_property
    def clients(self) -> list[AffectedClient]:
        """Clients that stalled, failed or left, sorted by id."""
        of_misuse = self._failure.misuse.client_instance_ids if self._failure.misuse is not None else set()
        named = {stall.client_instance_id for stall in self._failure.stalls}
        named |= {silence.client_instance_id for silence in self._failure.silences}
        named |= {member.client_instance_id for member in self.departed}
        named |= {recovery.client_instance_id for recovery in self._failure.recoveries}
        named |= self._failure.client_instance_ids
        ids = sorted(filter(None, of_misuse | named))
        return [self._known[identity] for identity in ids if identity in self._known]

    @cached_property
    def departed(self) -> list[DepartedMember]:
        """Members that their groups removed, and that had not left by themselves."""
        return [member for row in self._failure.rebalances for member in row.lost]

    @property
    def libraries(self) -> set[str]:
        """Libraries of the clients."""
        return {client.library for client in self.clients}

    def client(self, identity: str | None) -> AffectedClient | None:
        """Returns the client with that id; None if it is not known."""
        return self._known.get(identity) if identity else None

    @cached_property
    def tool(self) -> str:
        """Options with which Kafka's command-line tools reach the cluster: the address of a broker that served clients
        in the capture, preferably these clients."""
        plain = self._most_used(server for client in self.clients for server in client.servers)
        secured = self._most_used(server for client in self.clients for server in client.secured_servers)
        if plain or not secured:
            return f"--bootstrap-server {plain or _first(self._serving, self._failure.servers) or NO_SERVER}"
        return f"--bootstrap-server {secured} --command-config CLIENT.properties"

    def names_of_library(self, library: str) -> list[str]:
        """Returns the names of the clients of the library."""
        return names_of((row.client_id, row.client_ip) for row in self.clients if row.library == library)

    def given_up_ms(self, library: str) -> int | None:
        """Returns the longest time in ms after which clients of the library gave up a request without a response; None
        if none did."""
        mine = {client.client_instance_id for client in self.clients if client.library == library}
        waited = [
            (row.start_ns - row.failing_ns) // 1_000_000
            for row in self._failure.recoveries
            if row.client_instance_id in mine and row.first_error_name == GAVE_UP and row.failing_ns
        ]
        return max(waited, default=None)

    def is_advertised(self, servers: Collection[str]) -> bool:
        """Whether a Metadata response gave one of these addresses to one of the clients."""
        return any(server in servers for client in self.clients for server in client.advertised)

    def _most_used(self, servers: Iterable[str]) -> str | None:
        """Returns the address that most clients used, except those of the failed broker."""
        return _first(_most_frequent(Counter(servers)), self._failure.servers)


def serving_addresses(states: Iterable[BrokerState]) -> list[str]:
    """Returns the addresses that served hosts with clients, the most used first. states: rows of broker_states."""
    serving = (row for row in states if row.state == "serving" and row.host_kind == "client")
    return _most_frequent(Counter(row.server for row in serving))


def _most_frequent(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda server: (-counts[server], server))


def _first(servers: Iterable[str], failed: Collection[str]) -> str | None:
    """Returns the first address that has not failed, as an argument of a command."""
    return next((address(server) for server in servers if server not in failed), None)


def address(server: str | None) -> str:
    """Returns an `address:port` as an argument of a command, with IPv6 in brackets; NO_SERVER if it is not known."""
    if server is None:
        return NO_SERVER
    host, _, port = server.rpartition(":")
    return shlex.quote(f"[{host}]:{port}" if ":" in host and not host.startswith("[") else server)


def names_of(clients: Iterable[tuple[str | None, str | None]]) -> list[str]:
    """Returns the names of clients without repetition, sorted: the client id, else the address. clients: client id and
    address of each."""
    return sorted({str(client_id or client_ip) for client_id, client_ip in clients})
