"""Clients whose own settings do not fit a listener, from the rows that say how each used it (listener_use).

A client that authenticates on other connections lacks no setting: it sends requests too early, which is its own fault.
What a listener takes is known from the connections that were served there. A listener has the same port at all brokers:
clients that fail at one port for one cause are one failure.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.listener_use import HTTP, TLS, ListenerUse
from kafkascope_spark.stories.incidents.misuse import Cause, Misuse, clients_of, place_of

WITH_TLS = frozenset({"SSL", "SASL_SSL", TLS})
"""What clients with TLS speak."""
UNAUTHENTICATED = 2
"""Connections that a SASL listener closed without a word on an unauthenticated request: one may end by chance."""
MOST_ADDRESSES = 3
AUTHENTICATION: frozenset[Cause] = frozenset(
    {"without_sasl", "needless_sasl", "mechanism", "credentials", "authenticates_again"}
)
_OF_ERROR: dict[str, Cause] = {
    "SASL_AUTHENTICATION_FAILED": "credentials",
    "UNSUPPORTED_SASL_MECHANISM": "mechanism",
    "ILLEGAL_SASL_STATE": "needless_sasl",
}


class Listeners:
    """What listeners take, by address, and the uses that came to nothing."""

    def __init__(self) -> None:
        self._taken: dict[str, set[str]] = defaultdict(set)
        self._known: dict[str, set[str]] = defaultdict(set)
        """The same of connections of which it is known whether they use SASL."""
        self._of_clients: dict[str, set[str]] = defaultdict(set)
        """The same of clients that are no brokers: a listener for brokers is none for others."""
        self._mechanisms: dict[str, set[str]] = defaultdict(set)
        self._failed: list[ListenerUse] = []
        self._offers: dict[str, list[str]] = {}
        """The addresses at which clients are served that speak a protocol, sorted: made when all rows are there."""

    def take(self, use: ListenerUse) -> None:
        """How a listener was used."""
        if not use.outcome.served:
            self._failed.append(use)
            return
        self._taken[use.server].add(use.outcome.protocol)
        if use.outcome.from_start:
            self._known[use.server].add(use.outcome.protocol)
            if not use.outcome.of_broker:
                self._of_clients[use.server].add(use.outcome.protocol)
        if use.outcome.mechanism is not None:
            self._mechanisms[use.server].add(use.outcome.mechanism)

    def client_ids(self) -> set[str]:
        """The clients (client_instance_id) of which a use came to nothing."""
        return {use.client_instance_id for use in self._failed if use.client_instance_id is not None}

    def failures(self) -> Iterator[Failure]:
        """One failure for each port and cause."""
        found: dict[tuple[str, Cause], list[ListenerUse]] = defaultdict(list)
        for use in self._failed:
            cause = self._cause(use)
            if cause is not None:
                found[use.server.rpartition(":")[2], cause].append(use)
        for (_, cause), uses in found.items():
            yield _failure(self._misuse(cause, uses))

    def _cause(self, use: ListenerUse) -> Cause | None:
        """What about the client's settings does not fit; None where the capture does not show that."""
        if use.outcome.error_name is not None:
            return "authenticates_again" if _lost_session(use) else _OF_ERROR.get(use.outcome.error_name)
        protocol, taken = use.outcome.protocol, self._taken_at(use.server)
        if not taken:
            return None
        if protocol == HTTP:
            return "http"
        if protocol in WITH_TLS and not taken & WITH_TLS:
            return "needless_tls"
        if protocol not in WITH_TLS and taken <= WITH_TLS and not use.outcome.answered:
            return "without_tls"
        is_open = use.outcome.asked and use.n >= UNAUTHENTICATED
        if not is_open or f"SASL_{protocol}" not in taken:
            return None
        return "before_login" if use.logged_in else "without_sasl"

    def _taken_at(self, server: str) -> set[str]:
        """What the listener takes; where nobody was served at that broker, what it takes at the others."""
        port = server.rpartition(":")[2]
        at_others = (taken for other, taken in self._taken.items() if other.rpartition(":")[2] == port)
        return self._taken.get(server) or set().union(*at_others)

    def _misuse(self, cause: Cause, uses: Sequence[ListenerUse]) -> Misuse:
        servers = {use.server for use in uses}
        spoken = {use.outcome.protocol for use in uses}
        spoken |= WITH_TLS if spoken & WITH_TLS else set()
        return Misuse(
            cause,
            sorted(uses, key=lambda use: (use.first_ns, use.client_ip, use.server)),
            sorted(set().union(*(self._known.get(server, ()) for server in servers))),
            sorted(set().union(*(self._mechanisms.get(server, ()) for server in servers))),
            self._alternatives(spoken, servers),
        )

    def _alternatives(self, spoken: set[str], servers: set[str]) -> list[str]:
        """The first of the other addresses at which clients are served that speak the same."""
        found: set[str] = set()
        for protocol in spoken:
            offers = self._offered(protocol)
            found.update(islice((server for server in offers if server not in servers), MOST_ADDRESSES))
        return sorted(found)[:MOST_ADDRESSES]

    def _offered(self, protocol: str) -> list[str]:
        if protocol not in self._offers:
            self._offers[protocol] = sorted(s for s, taken in self._of_clients.items() if protocol in taken)
        return self._offers[protocol]


def _lost_session(use: ListenerUse) -> bool:
    return bool(use.outcome.error_name == "ILLEGAL_SASL_STATE" and use.outcome.had_session)


def _failure(misuse: Misuse) -> Failure:
    """The failure, from the first attempt to the last; it is not over where a client still tries again."""
    uses = misuse.uses
    is_over = all(use.is_over or use.works_on for use in uses)
    failure = Failure(
        CLIENT,
        f"{clients_of(misuse)} at {place_of(misuse)}",
        min(use.first_ns for use in uses),
        max(use.last_ns for use in uses) if is_over else None,
        hosts=frozenset(use.client_ip for use in uses),
        misuse=misuse,
    )
    failure.client_instance_ids |= misuse.client_instance_ids & misuse.unserved
    return failure
