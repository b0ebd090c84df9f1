"""`Misuse`: how clients used a listener that their own settings do not fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.listener_use import ListenerUse
from kafkascope_spark.stories.model import TlsGivenUp

ENCRYPTED = "encrypted"
"""What `TlsGivenUp` has as the alert where that cannot be read."""
Cause = Literal[
    "http",
    "needless_tls",
    "without_tls",
    "without_sasl",
    "before_login",
    "needless_sasl",
    "mechanism",
    "credentials",
    "refused_at_times",
    "no_longer",
    "authenticates_again",
    "session_refused",
    "tls",
]
"""What does not fit."""


@dataclass(frozen=True)
class Misuse:
    """How clients used a listener that their settings do not fit. protocols, mechanisms:
    what clients that were served there speak; alternatives: addresses that serve what these clients speak;
    others_served: whether clients of other addresses were served there."""

    cause: Cause
    uses: Sequence[ListenerUse]
    protocols: Sequence[str]
    mechanisms: Sequence[str]
    alternatives: Sequence[str]
    others_served: bool

    @property
    def is_of_one_client(self) -> bool:
        """Whether one client address alone is wrong: the listener serves others."""
        return self.others_served and len({use.client_ip for use in self.uses}) == 1

    @property
    def tls_given_up(self) -> TlsGivenUp | None:
        """Which side gave TLS up, and why: as the handshake shows it, where one of them does."""
        found = [use.outcome.tls_given_up for use in self.uses if use.outcome.tls_given_up is not None]
        return min(found, key=lambda given_up: (not given_up.is_plain, given_up.alert == ENCRYPTED), default=None)

    @property
    def is_tls_changed(self) -> bool:
        """Whether clients gave up TLS with a listener that an address of theirs had used before, and not meanwhile:
        the listener shows another certificate."""
        return any(was_accepted_before(use) for use in self.uses)

    @cached_property
    def servers(self) -> list[str]:
        """The addresses of the listener, sorted."""
        return sorted({use.server for use in self.uses})

    @cached_property
    def unserved(self) -> set[str]:
        """The clients that were served nowhere afterwards: their ids, else their addresses."""
        return {use.client_instance_id or use.client_ip for use in self.uses if not _works_on(use)}

    @cached_property
    def client_instance_ids(self) -> set[str]:
        """The clients, without those of which no request could be read."""
        return {use.client_instance_id for use in self.uses if use.client_instance_id is not None}

    @cached_property
    def refused_ns(self) -> int:
        """How long the client tried in vain that did so for the longest time."""
        return max(use.last_ns - use.first_ns for use in self.uses)

    @cached_property
    def kept_out_ns(self) -> int:
        """How long an address tried in vain whose connections with TLS worked later, that of the longest time."""
        tried = (use.last_ns - use.first_ns for use in self.uses if use.works_on and not use.tls_meanwhile)
        return max(tried, default=0)

    @cached_property
    def n_connections(self) -> int:
        """The connections that came to nothing."""
        return sum(use.n for use in self.uses)


def _works_on(use: ListenerUse) -> bool:
    """Whether a client was served afterwards: also under another user, which makes it another client."""
    return use.works_on or (use.outcome.had_session and use.logs_in_later)


def was_accepted_before(use: ListenerUse) -> bool:
    """Whether a client gave up TLS with a server that its address had used before, and not meanwhile."""
    given_up = use.outcome.tls_given_up
    return (
        given_up is not None and given_up.side == "client" and use.tls_before_ns is not None and not use.tls_meanwhile
    )


def clients_of(misuse: Misuse) -> str:
    """The clients, listed."""
    return listed(sorted({client(use.client_id, use.client_ip) for use in misuse.uses}))


def place_of(misuse: Misuse) -> str:
    """The listener: `10.0.0.1:9093`, `port 9093 of 10.0.0.1, 10.0.0.2`."""
    servers = misuse.servers
    if len(servers) == 1:
        return servers[0]
    addresses = listed([server.rpartition(":")[0] for server in servers])
    return f"port {servers[0].rpartition(':')[2]} of {addresses}"
