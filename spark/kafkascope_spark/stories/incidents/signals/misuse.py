"""`Misuse`: the use of a listener by clients whose settings do not fit it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.signals.listener_use import ListenerUse
from kafkascope_spark.stories.model import TlsGivenUp

ENCRYPTED = "encrypted"
"""Alert in `TlsGivenUp` if the alert itself is encrypted."""
Cause = Literal[
    "http",
    "proxy_header",
    "needless_tls",
    "without_tls",
    "tls_since",
    "without_name",
    "without_sasl",
    "before_login",
    "needless_sasl",
    "mechanism",
    "mechanism_gone",
    "credentials",
    "left_login",
    "closed_login",
    "refused_at_times",
    "no_longer",
    "authenticates_again",
    "session_refused",
    "tls",
]
"""Setting of the client, or of the broker, that does not fit: tls_since is a listener that demands TLS only at this
broker, or only at this time; mechanism_gone is the same for a SASL mechanism."""


@dataclass(frozen=True)
class Misuse:
    """Use of a listener by clients whose settings do not fit it. protocols, mechanisms: those of clients that were
    served there; alternatives: other addresses that serve the protocols of these clients; others_served: whether
    clients of other addresses were served there; let_in_at: other addresses at which all hosts of these clients logged
    in with the same mechanism; by_brokers: whether only brokers of the capture did it."""

    cause: Cause
    uses: Sequence[ListenerUse]
    protocols: Sequence[str]
    mechanisms: Sequence[str]
    alternatives: Sequence[str]
    others_served: bool
    let_in_at: Sequence[str] = ()
    by_brokers: bool = False

    @property
    def tried_mechanisms(self) -> list[str]:
        """The SASL mechanisms that these clients used, sorted."""
        return sorted({use.outcome.mechanism for use in self.uses if use.outcome.mechanism is not None})

    @property
    def is_of_one_client(self) -> bool:
        """Whether only one client address is affected, while the listener serves others."""
        return self.others_served and len({use.client_ip for use in self.uses}) == 1

    @property
    def tls_given_up(self) -> TlsGivenUp | None:
        """The side that gave up TLS, and the reason, from the handshake that shows most; None if TLS was not given
        up."""
        found = [use.outcome.tls_given_up for use in self.uses if use.outcome.tls_given_up is not None]
        return min(found, key=lambda given_up: (not given_up.is_plain, given_up.alert == ENCRYPTED), default=None)

    @property
    def is_tls_changed(self) -> bool:
        """Whether the listener shows another certificate than before: clients gave up TLS with a listener that one of
        their addresses had used before, and did not use in between."""
        return any(was_accepted_before(use) for use in self.uses)

    @cached_property
    def servers(self) -> list[str]:
        """The addresses of the listener, sorted."""
        return sorted({use.server for use in self.uses})

    @cached_property
    def unserved(self) -> set[str]:
        """Clients that were served nowhere afterwards: their client_instance_ids, else their addresses."""
        return {use.client_instance_id or use.client_ip for use in self.uses if not _works_on(use)}

    @cached_property
    def client_instance_ids(self) -> set[str]:
        """client_instance_ids of the clients; clients whose requests could not be read have none."""
        return {use.client_instance_id for use in self.uses if use.client_instance_id is not None}

    @cached_property
    def refused_ns(self) -> int:
        """Longest time in which a client tried without success."""
        return max(use.last_ns - use.first_ns for use in self.uses)

    @cached_property
    def unserved_ns(self) -> int:
        """Longest time in which a client tried that was served nowhere afterwards."""
        return max((use.last_ns - use.first_ns for use in self.uses if not _works_on(use)), default=0)

    @cached_property
    def kept_out_ns(self) -> int:
        """Longest time in which an address tried without success whose connections with TLS worked later."""
        tried = (use.last_ns - use.first_ns for use in self.uses if use.works_on and not use.tls_meanwhile)
        return max(tried, default=0)

    @cached_property
    def n_connections(self) -> int:
        """Number of connections that were not served."""
        return sum(use.n for use in self.uses)


def _works_on(use: ListenerUse) -> bool:
    """Whether a client was served afterwards. A later login as another user counts, too, although it makes it another
    client."""
    return use.works_on or (use.outcome.had_session and use.logs_in_later)


def was_accepted_before(use: ListenerUse) -> bool:
    """Whether a client gave up TLS with a server that its address had used before, and did not use in between."""
    given_up = use.outcome.tls_given_up
    return (
        given_up is not None and given_up.side == "client" and use.tls_before_ns is not None and not use.tls_meanwhile
    )


def clients_of(misuse: Misuse) -> str:
    """Returns the clients as a list in words."""
    return listed(sorted({client(use.client_id, use.client_ip) for use in misuse.uses}))


def place_of(misuse: Misuse) -> str:
    """Returns the listener in words: `10.0.0.1:9093`, `port 9093 of 10.0.0.1, 10.0.0.2`."""
    servers = misuse.servers
    if len(servers) == 1:
        return servers[0]
    addresses = listed([server.rpartition(":")[0] for server in servers])
    return f"port {servers[0].rpartition(':')[2]} of {addresses}"
