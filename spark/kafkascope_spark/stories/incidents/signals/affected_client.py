"""`AffectedClient`: the facts about a client that advice needs: its library, its settings as the wire shows them, and
the brokers that served it.

One row for each client goes to the stage that makes the incidents; it keeps those that a failure names.
"""

from collections import Counter
from dataclasses import dataclass

from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.stage_rows import StageRow

MOST_SERVERS, MOST_ADVERTISED = 8, 32


@dataclass(slots=True)
class AffectedClient(StageRow):
    """A client that an incident may name.

    died_ns: when its connections were closed, where it ended without a clean close; library: its name
    (libraries/registry.py). servers, secured_servers: addresses of brokers that answered its
    Metadata or accepted its records, without and with TLS or SASL, the most used first. advertised: addresses that
    Metadata gave it.
    """

    client_instance_id: str
    client_id: str | None
    client_ip: str
    principal: str | None
    kind: str
    group_protocol: str | None
    end_state: str
    died_ns: int | None
    library: str
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    servers: tuple[str, ...]
    secured_servers: tuple[str, ...]
    advertised: tuple[str, ...]


def affected_client(instance: Instance, client: ClientRow) -> AffectedClient:
    """Returns the row of a client. client: its row of the table `clients`."""
    connections = instance.connections
    served = [c for c in connections if c.named_servers or c.first_accepted_ns is not None]
    secured = [c for c in served if c.tls or c.sasl_mechanism is not None]
    return AffectedClient(
        client_instance_id=client.client_instance_id,
        client_id=client.client_id,
        client_ip=client.client_ip,
        principal=client.principal,
        kind=client.kind,
        group_protocol=client.group_protocol,
        end_state=client.end_state,
        died_ns=_died_ns(connections) if client.end_state == "died" else None,
        library=instance.library,
        session_timeout_ms=_most(connections, "session_timeout_ms"),
        rebalance_timeout_ms=_most(connections, "rebalance_timeout_ms"),
        servers=_most_used([c for c in served if c not in secured]),
        secured_servers=_most_used(secured),
        advertised=tuple(sorted(set().union(*(c.named_servers for c in connections)))[:MOST_ADVERTISED]),
    )


def _died_ns(connections: list[Connection]) -> int | None:
    """Returns when the last of the connections was closed; None if one of them is still open."""
    opened = [c.close_ns for c in connections if not c.failed_to_open]
    ends = [close_ns for close_ns in opened if close_ns is not None]
    return max(ends) if ends and len(ends) == len(opened) else None


def _most(connections: list[Connection], name: str) -> int | None:
    return max((v for c in connections if (v := getattr(c, name)) is not None), default=None)


def _most_used(connections: list[Connection]) -> tuple[str, ...]:
    requests: Counter[str] = Counter()
    for connection in connections:
        requests[connection.server] += connection.n_requests
    return tuple(sorted(requests, key=lambda server: (-requests[server], server))[:MOST_SERVERS])
