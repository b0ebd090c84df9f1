"""`Misuse`: how clients used a listener that their own settings do not fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.listener_use import ListenerUse

Cause = Literal[
    "http",
    "needless_tls",
    "without_tls",
    "without_sasl",
    "before_login",
    "needless_sasl",
    "mechanism",
    "credentials",
    "authenticates_again",
]
"""What does not fit."""


@dataclass(frozen=True)
class Misuse:
    """How clients used a listener that their settings do not fit. protocols, mechanisms:
    what clients that were served there speak; alternatives: addresses that serve what these clients speak."""

    cause: Cause
    uses: Sequence[ListenerUse]
    protocols: Sequence[str]
    mechanisms: Sequence[str]
    alternatives: Sequence[str]

    @cached_property
    def servers(self) -> list[str]:
        """The addresses of the listener, sorted."""
        return sorted({use.server for use in self.uses})

    @cached_property
    def unserved(self) -> set[str]:
        """The clients that were served nowhere afterwards: their ids, else their addresses."""
        return {use.client_instance_id or use.client_ip for use in self.uses if not use.works_on}

    @cached_property
    def client_instance_ids(self) -> set[str]:
        """The clients, without those of which no request could be read."""
        return {use.client_instance_id for use in self.uses if use.client_instance_id is not None}

    @cached_property
    def n_connections(self) -> int:
        """The connections that came to nothing."""
        return sum(use.n for use in self.uses)


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
